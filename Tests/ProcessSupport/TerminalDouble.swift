/// A terminal as far as our bytes need one: it obeys positions and erasing, passes over colours, remembers modes, and has an opinion on
/// the width of each character.
public struct TerminalDouble: Sendable {
    public private(set) var cells: [[String]]
    public private(set) var row = 0
    public private(set) var column = 0
    /// The private modes that were set or reset, such as 25 for the cursor.
    public private(set) var modes: [Int: Bool] = [:]
    /// Orders that it does not know: none may be sent.
    public private(set) var unknown: [String] = []
    private let width: @Sendable (Character) -> Int
    /// The beginning of an order whose end has not come.
    private var rest = ""

    public init(columns: Int, rows: Int, width: @escaping @Sendable (Character) -> Int = { _ in 1 }) {
        cells = Array(repeating: Array(repeating: " ", count: columns), count: rows)
        self.width = width
    }

    public var isCursorShown: Bool { modes[25] ?? true }
    public var text: String { cells.map { $0.joined() }.joined(separator: "\n") }

    public mutating func take(_ text: String) {
        var text = Substring(rest + text)
        rest = ""
        while let character = text.popFirst() {
            guard character == "\u{1b}" else {
                put(character)
                continue
            }
            guard let end = text.dropFirst().firstIndex(where: \.isLetter) else {
                rest = "\u{1b}" + text
                return
            }
            obey(String(text[...end]))
            text = text[text.index(after: end)...]
        }
    }

    private mutating func put(_ character: Character) {
        guard cells.indices.contains(row), cells[row].indices.contains(column) else { return }
        let width = width(character)
        cells[row][column] = String(character)
        if width > 1, column + 1 < cells[row].count { cells[row][column + 1] = "" }
        column += width
    }

    private mutating func obey(_ order: String) {
        let isPrivate = order.hasPrefix("[?")
        let parameters = order.dropFirst(isPrivate ? 2 : 1).dropLast().split(separator: ";").compactMap { Int($0) }
        switch order.last {
        case "H" where parameters.count == 2: (row, column) = (parameters[0] - 1, parameters[1] - 1)
        case "J" where parameters == [2]: cells = cells.map { $0.map { _ in " " } }
        case "m": break
        case "h" where isPrivate && parameters.count == 1: modes[parameters[0]] = true
        case "l" where isPrivate && parameters.count == 1: modes[parameters[0]] = false
        default: unknown.append(order)
        }
    }
}
