/// The orders by which a terminal is told a style.
package struct Theme: Equatable, Sendable {
    /// Without, only brightness, underlines and inversion tell styles apart.
    package var hasColours: Bool

    package init(hasColours: Bool) {
        self.hasColours = hasColours
    }

    /// The parameters of “select graphic rendition”, from the plain style on.
    func parameters(of style: CellStyle) -> String {
        switch style {
        case .plain: "0"
        case .heading: hasColours ? "0;1;36" : "0;1"
        case .strong: "0;1"
        case .quiet: "0;2"
        case .good: hasColours ? "0;32" : "0"
        case .warning: hasColours ? "0;33" : "0;1"
        case .bad: hasColours ? "0;1;31" : "0;1;4"
        case .button: hasColours ? "0;34" : "0"
        case .focused: "0;7"
        case .field: "0;4"
        case .status: "0;2"
        }
    }
}
