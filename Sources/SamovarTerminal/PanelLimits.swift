/// Every limit of drawing panels and taking keys, in one place. A panel may come from anywhere.
package struct PanelLimits: Equatable, Sendable {
    /// Nodes inside each other.
    package var depth = 16
    package var nodes = 4_096
    /// Unicode scalars of all texts together.
    package var scalars = 65_536
    /// Unicode scalars of one character. Of an emoji family there are 7.
    package var characterScalars = 8
    package var tableColumns = 32

    /// The largest screen that is drawn on.
    package var columns = 500
    package var rows = 300
    /// Lines of a drawn panel, of which a screen shows a part.
    package var lines = 8_192

    package var barWidth = 20
    package var fieldWidth = 24
    /// Labels that are longer do not push all values to the right.
    package var labelWidth = 32
    /// Columns of a panel that is printed as text.
    package var printedColumns = 120

    /// Characters typed into one field.
    package var typedCharacters = 1_000
    /// Bytes of one key and of one paste.
    package var keyBytes = 32
    package var pasteBytes = 4_096
    /// Inputs without a receipt.
    package var unanswered = 16
    /// Unicode scalars of a receipt that is shown.
    package var statusScalars = 300
    /// For how long a control that has just come to its place cannot be pressed: what a person meant to press stood there before.
    package var settling: Duration = .milliseconds(400)

    package init() {}
}
