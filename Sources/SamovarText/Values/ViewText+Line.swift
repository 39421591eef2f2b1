public import MessagePack
import SamovarTerminal

extension ViewText {
    static let maximumLine = 200
    /// Scalars of one text in a line.
    static let maximumWord = 60
    /// Parts of a nested map or array in a line.
    static let maximumParts = 3

    /// One line of at most 200 characters: `count 3, users {ada admin, grace guest}, last [1, 2, 3, …]`.
    ///
    /// Of a panel these are its first lines, without frames.
    public static func line(of value: MessagePackValue) -> String {
        if let panel = PanelReader.panel(in: value) {
            return shortened(PanelText.words(of: panel).joined(separator: " · "), to: maximumLine)
        }
        let parts: [String] =
            switch value {
            // No part is empty, so more parts than this cannot be seen.
            case .map(let pairs) where !pairs.isEmpty: pairs.prefix(maximumLine).map { brief($0, depth: 0) }
            case .array(let elements) where !elements.isEmpty: elements.prefix(maximumLine).map { brief($0, depth: 0) }
            default: [text(of: value, limit: maximumLine)]
            }
        return shortened(parts.joined(separator: ", "), to: maximumLine)
    }

    private static func brief(_ pair: MessagePackPair, depth: Int) -> String {
        text(of: pair.key, limit: maximumWord) + " " + brief(pair.value, depth: depth)
    }

    private static func brief(_ value: MessagePackValue, depth: Int) -> String {
        switch value {
        case .map(let pairs):
            "{" + list(pairs, depth: depth) { brief($0, depth: depth + 1) } + "}"
        case .array(let elements):
            "[" + list(elements, depth: depth) { brief($0, depth: depth + 1) } + "]"
        default: text(of: value, limit: maximumWord)
        }
    }

    private static func list<Item>(_ items: [Item], depth: Int, _ brief: (Item) -> String) -> String {
        guard depth < 1 || items.isEmpty else { return "…" }
        let shown = items.prefix(maximumParts).map(brief)
        return (shown + (items.count > maximumParts ? ["…"] : [])).joined(separator: ", ")
    }
}
