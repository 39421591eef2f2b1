import MessagePack
import SamovarCore
import SamovarStore
import SamovarTerminal

/// What browsers are sent of views: panels without the inputs that their controls send, and other values cut to a size that can be shown.
enum PageValues {
    /// Children of one value, bytes of one text, and how deep values are inside each other.
    static let children = 500
    static let textBytes = 64 << 10
    static let depth = 32
    /// Whole numbers that JavaScript has, each of them apart from its neighbours.
    private static let scriptNumbers: ClosedRange<Int64> = -9_007_199_254_740_991...9_007_199_254_740_991

    // MARK: Panels

    /// A panel in its encoded form, but for `send`: a control has its place among all controls in `control`, and in `key` what is the same as long as it
    /// is the same control, wherever it stands.
    static func value(of panel: AnyPanel) -> MessagePackValue {
        var controls = Controls(left: PanelControl.all(of: panel)[...])
        return ["title": .string(panel.title), "of": values(of: panel.nodes, &controls)]
    }

    /// Those that have not had their turn, in the order in which the panel is read.
    private struct Controls {
        private(set) var left: ArraySlice<PanelControl>

        init(left: ArraySlice<PanelControl>) { self.left = left }

        /// Place and key of the next one.
        mutating func next() -> [MessagePackPair] {
            guard let control = left.first else { return [] }
            defer { left.removeFirst() }
            let identity = control.identity
            var writer = MessagePackWriter()
            writer.write(identity.label)
            for input in identity.inputs { input.write(to: &writer) }
            writer.write(identity.occurrence)
            return [
                MessagePackPair("control", .int(Int64(left.startIndex))),
                MessagePackPair("key", .string(String(KeyedHash.of(writer.bytes), radix: 16))),
            ]
        }
    }

    private static func values(of nodes: [AnyPanelNode], _ controls: inout Controls) -> MessagePackValue {
        .array(nodes.map { value(of: $0, &controls) })
    }

    private static func value(of node: AnyPanelNode, _ controls: inout Controls) -> MessagePackValue {
        switch node {
        case .text(let text, let style):
            return ["kind": "text", "text": .string(text), "style": .string(style.rawValue)]
        case .button(let label, _):
            return .map([MessagePackPair("kind", "button"), MessagePackPair("label", .string(label))] + controls.next())
        case .rows(let nodes): return ["kind": "rows", "of": values(of: nodes, &controls)]
        case .columns(let nodes): return ["kind": "columns", "of": values(of: nodes, &controls)]
        case .section(let title, let nodes):
            return ["kind": "section", "title": .string(title), "of": values(of: nodes, &controls)]
        case .table(let table):
            let columns = table.columns.map {
                ["title": .string($0.title), "alignment": .string($0.alignment.rawValue)] as MessagePackValue
            }
            var rows: [MessagePackValue] = []
            for row in table.rows { rows.append(values(of: row, &controls)) }
            return ["kind": "table", "columns": .array(columns), "rows": .array(rows)]
        case .gauge(let gauge):
            return [
                "kind": "gauge", "label": .string(gauge.label), "value": .double(gauge.value), "from": .double(gauge.from),
                "to": .double(gauge.to), "unit": .string(gauge.unit),
            ]
        case .progress(let progress):
            return [
                "kind": "progress", "label": .string(progress.label), "done": bounded(.int(Int64(progress.done))),
                "total": progress.total.map { bounded(.int(Int64($0))) } ?? .nil,
            ]
        case .field(let field):
            let pairs = [
                MessagePackPair("kind", "field"), MessagePackPair("label", .string(field.label)),
                MessagePackPair("type", .string(field.kind.rawValue)), MessagePackPair("holds", .string(field.holds)),
            ]
            return .map(pairs + controls.next())
        case .space: return ["kind": "space"]
        }
    }

    // MARK: Other values

    /// The value, with a text in the place of what was cut, and of a whole number that a script would take for another one.
    static func bounded(
        _ value: MessagePackValue, text maximum: Int = textBytes, depth left: Int = depth
    ) -> MessagePackValue {
        switch value {
        case .string(let text):
            guard text.utf8.count > maximum else { return value }
            return .string(String(decoding: text.utf8.prefix(maximum), as: UTF8.self) + "… (\(text.utf8.count) bytes)")
        case .binary(let bytes):
            guard bytes.count > maximum else { return value }
            return .string("(\(bytes.count) bytes)")
        case .array(let elements):
            guard left > 0 else { return .string("… nested too deep") }
            var shown = elements.prefix(children).map { bounded($0, text: maximum, depth: left - 1) }
            if elements.count > children { shown.append(.string("… \(elements.count - children) more")) }
            return .array(shown)
        case .map(let pairs):
            guard left > 0 else { return .string("… nested too deep") }
            var shown = pairs.prefix(children).map { MessagePackPair($0.key, bounded($0.value, text: maximum, depth: left - 1)) }
            if pairs.count > children { shown.append(MessagePackPair("…", .string("\(pairs.count - children) more"))) }
            return .map(shown)
        case .int(let number): return scriptNumbers.contains(number) ? value : .string("\(number)")
        case .uint(let number): return .string("\(number)")
        case .nil, .bool, .float, .double, .extension: return value
        }
    }
}
