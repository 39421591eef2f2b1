/// A user interface as data: a tree of texts, buttons, tables and gauges, whose buttons carry the input that they send.
///
/// A program whose view is a panel needs no code for a user interface. `monitor` draws it in a terminal and sends the input of the
/// button that a person presses there; so does the generic tool, which knows nothing of the program's types.
///
/// ```swift
/// static func view(_ state: State) -> Panel<Input> {
///     Panel("Counter", [
///         .text("count \(state.count)", .strong),
///         .columns([.button("+1", send: .increment), .button("−1", send: .decrement)]),
///         .field("Name", holds: state.name) { .rename(to: $0) },
///     ])
/// }
/// ```
///
/// A panel says what is there and what it means, never how it looks: sizes, colours and keys are the renderer's. Texts may be
/// anything, also what strangers typed; a renderer shows what could control a terminal as numbers. A renderer draws a bounded part of
/// a panel that is too deep or too large, and says so.
///
/// Its encoded form, for programs and renderers in other languages, is described in `docs/panel.md`.
public struct Panel<Input: Equatable & Sendable>: Equatable, Sendable {
    /// Stands above all; may be empty.
    public var title: String
    /// From top to bottom.
    public var nodes: [PanelNode<Input>]

    /// A panel of these nodes, from top to bottom.
    public init(_ title: String = "", _ nodes: [PanelNode<Input>]) {
        self.title = title
        self.nodes = nodes
    }
}

/// A view that has a panel beside other things.
///
/// The property must be a stored one: renderers see only what is encoded, and look for the key `panel`.
public protocol PanelView<Input>: Portable {
    associatedtype Input: Equatable & Sendable

    /// What is drawn.
    var panel: Panel<Input> { get }
}

/// One part of a panel. A string literal is a text.
public indirect enum PanelNode<Input: Equatable & Sendable>: Equatable, Sendable {
    /// One paragraph; it is wrapped where there is no room.
    case text(String, PanelStyle = .plain)
    /// Sends the input when it is pressed.
    case button(String, send: Input)
    /// One below the other.
    case rows([PanelNode])
    /// Side by side, and on further lines where there is no room.
    case columns([PanelNode])
    /// A titled group of rows.
    case section(String, [PanelNode])
    /// A table; see ``table(_:rows:)``.
    case table(PanelTable<Input>)
    /// A value on a scale; see ``gauge(_:_:in:unit:)``.
    case gauge(PanelGauge)
    /// How much is done; see ``progress(_:done:of:)``.
    case progress(PanelProgress)
    /// A place for typing; see ``field(_:holds:send:)``.
    case field(PanelField<Input>)
    /// An empty line, or a gap in columns.
    case space

    /// A table: a title for each column, and rows of nodes, mostly texts and buttons.
    public static func table(_ columns: [PanelColumn], rows: [[PanelNode]]) -> PanelNode {
        .table(PanelTable(columns: columns, rows: rows))
    }

    /// A value on a scale, such as a load of 42 %.
    public static func gauge(_ label: String, _ value: Double, in range: ClosedRange<Double> = 0...1, unit: String = "")
        -> PanelNode
    {
        .gauge(PanelGauge(label: label, value: value, from: range.lowerBound, to: range.upperBound, unit: unit))
    }

    /// How much of something is done; without a total, only how much.
    public static func progress(_ label: String, done: Int, of total: Int? = nil) -> PanelNode {
        .progress(PanelProgress(label: label, done: done, total: total))
    }
}

extension PanelNode: ExpressibleByStringInterpolation {
    /// A text in the plain style.
    public init(stringLiteral text: String) {
        self = .text(text)
    }
}

/// What a text is for. Each renderer has its own look for it.
public enum PanelStyle: String, Portable, CaseIterable {
    case plain, heading, strong, quiet, good, warning, bad
}

/// A table; made by ``PanelNode/table(_:rows:)``.
public struct PanelTable<Input: Equatable & Sendable>: Equatable, Sendable {
    /// From left to right.
    public var columns: [PanelColumn]
    /// A row may have fewer nodes than there are columns. What is beyond them is not shown.
    public var rows: [[PanelNode<Input>]]

    /// A table of these columns and rows.
    public init(columns: [PanelColumn], rows: [[PanelNode<Input>]]) {
        self.columns = columns
        self.rows = rows
    }
}

/// A column of a table. A string literal is a column that is aligned to the left.
public struct PanelColumn: Portable, ExpressibleByStringLiteral {
    /// At which side of its column a cell stands.
    public enum Alignment: String, Portable, CaseIterable {
        case left, right
    }

    /// Stands above the column.
    public var title: String
    /// At which side its cells stand.
    public var alignment: Alignment

    /// A column with a title.
    public init(_ title: String, _ alignment: Alignment = .left) {
        self.title = title
        self.alignment = alignment
    }

    /// A column that is aligned to the left.
    public init(stringLiteral title: String) {
        self.init(title)
    }
}

/// A value on a scale; made by ``PanelNode/gauge(_:_:in:unit:)``.
public struct PanelGauge: Portable {
    /// What is measured.
    public var label: String
    /// Where the mark is; one beyond the scale is drawn at its end.
    public var value: Double
    /// The beginning of the scale.
    public var from: Double
    /// The end of the scale.
    public var to: Double
    /// Stands behind the number; may be empty.
    public var unit: String

    /// A value on a scale.
    public init(label: String, value: Double, from: Double, to: Double, unit: String = "") {
        self.label = label
        self.value = value
        self.from = from
        self.to = to
        self.unit = unit
    }
}

/// How much of something is done; made by ``PanelNode/progress(_:done:of:)``.
public struct PanelProgress: Portable {
    /// What is done.
    public var label: String
    /// How many are done.
    public var done: Int
    /// How many there are; nil if nobody knows.
    public var total: Int?

    /// So many of so many.
    public init(label: String, done: Int, total: Int? = nil) {
        self.label = label
        self.done = done
        self.total = total
    }
}
