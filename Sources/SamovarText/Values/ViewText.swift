public import MessagePack
import SamovarTerminal

/// A view of any program as text for people.
///
/// It knows nothing of the program's types: maps become rows, arrays bullets, a panel is drawn. Every text of the view is escaped with
/// ``escapeForTerminal(_:)``, because a view shows what strangers have typed.
public enum ViewText {
    /// Elements of one array that are shown.
    static let maximumElements = 20
    /// Rows of one map that are shown.
    package static let maximumRows = 100
    /// Rows and bullets inside each other; what is deeper is shown as `{…}` or `[…]`.
    static let maximumDepth = 16
    static let maximumText = 1_000
    /// Names that are longer do not push all values to the right.
    static let maximumNameWidth = 32

    /// Rows of aligned names and values; nested maps are indented, arrays become bullets.
    ///
    /// ```
    /// count  3
    /// users
    ///   ada    admin
    ///   grace  guest
    /// last
    ///   - 2026-07-31
    ///   … and 4 more
    /// ```
    public static func lines(of value: MessagePackValue) -> [String] {
        if let panel = PanelReader.panel(in: value) { return PanelText.lines(of: panel) }
        return block(value, depth: 0)
    }

    package static func screen(of value: MessagePackValue) -> String { lines(of: value).joined(separator: "\n") }

    private static func block(_ value: MessagePackValue, depth: Int) -> [String] {
        guard isBlock(value, depth: depth) else { return [leaf(value)] }
        return switch value {
        case .map(let pairs): rows(pairs, depth: depth)
        case .array(let elements): bullets(elements, depth: depth)
        default: []
        }
    }

    private static func isBlock(_ value: MessagePackValue, depth: Int) -> Bool {
        guard depth < maximumDepth else { return false }
        return switch value {
        case .map(let pairs): !pairs.isEmpty
        case .array(let elements): !elements.isEmpty
        default: false
        }
    }

    private static func rows(_ pairs: [MessagePackPair], depth: Int) -> [String] {
        let shown = pairs.prefix(maximumRows).map { pair in
            (name: text(of: pair.key, limit: maximumText), value: pair.value)
        }
        let width = shown.filter { !isBlock($0.value, depth: depth + 1) }.map { min($0.name.columns, maximumNameWidth) }.max() ?? 0
        let lines = shown.flatMap { row in
            let content = block(row.value, depth: depth + 1)
            if isBlock(row.value, depth: depth + 1) { return [row.name] + content.map { "  " + $0 } }
            let gap = String(repeating: " ", count: max(0, width - row.name.columns) + 2)
            return content.map { row.name + gap + $0 }
        }
        return lines + remainder(pairs.count - shown.count)
    }

    private static func bullets(_ elements: [MessagePackValue], depth: Int) -> [String] {
        let shown = elements.prefix(maximumElements)
        let lines = shown.flatMap { element in
            block(element, depth: depth + 1).enumerated().map { index, line in (index == 0 ? "- " : "  ") + line }
        }
        return lines + remainder(elements.count - shown.count)
    }

    private static func remainder(_ count: Int) -> [String] {
        count == 0 ? [] : ["… and \(count) more"]
    }

    private static func leaf(_ value: MessagePackValue) -> String {
        switch value {
        case .map(let pairs): pairs.isEmpty ? "{}" : "{…}"
        case .array(let elements): elements.isEmpty ? "[]" : "[…]"
        default: text(of: value, limit: maximumText)
        }
    }

    /// A scalar or a key. An empty text would look like nothing at all, so it keeps its quotes.
    package static func text(of value: MessagePackValue, limit: Int) -> String {
        let text = shortened(value.plainText, to: limit)
        return text.isEmpty ? "\"\"" : text
    }
}
