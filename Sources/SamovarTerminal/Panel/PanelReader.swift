package import MessagePack
package import SamovarCore

/// A panel whose inputs are values that the renderer does not understand, only sends.
package typealias AnyPanel = Panel<MessagePackValue>
package typealias AnyPanelNode = PanelNode<MessagePackValue>

/// Finds the panel in a view, and reads it without knowing the program's types.
///
/// What is read may come from anywhere, so this never fails: a node that it cannot understand becomes a text that says why, and what
/// exceeds the limits is left out, with a text in its place, but for columns of a table.
package struct PanelReader {
    private let limits: PanelLimits
    private var nodesLeft: Int
    private var scalarsLeft: Int

    /// The panel that a view is, or has under the key `panel`; nil if there is none.
    package static func panel(in view: MessagePackValue, _ limits: PanelLimits = PanelLimits()) -> AnyPanel? {
        func version(of value: MessagePackValue) -> Int64? {
            if case .int(let version) = value["panel"] { version } else { nil }
        }
        let found = version(of: view) == nil ? view["panel"] : view
        guard let found, let version = version(of: found) else { return nil }
        guard version == PanelFormat.version else {
            let text = "a panel of version \(version); this renderer draws version \(PanelFormat.version)"
            return AnyPanel("", [.text(text, .bad)])
        }
        var reader = PanelReader(limits: limits, nodesLeft: limits.nodes, scalarsLeft: limits.scalars)
        return AnyPanel(reader.text(found["title"]), reader.nodes(found["of"], depth: 0))
    }

    private mutating func nodes(_ value: MessagePackValue?, depth: Int) -> [AnyPanelNode] {
        guard case .array(let elements) = value else { return [bad("a list of nodes is missing")] }
        guard depth < limits.depth else { return elements.isEmpty ? [] : [.text("… nested too deep", .quiet)] }
        var nodes: [AnyPanelNode] = []
        for element in elements {
            guard nodesLeft > 0, scalarsLeft > 0 else { return nodes + [.text("… and more", .quiet)] }
            nodesLeft -= 1
            nodes.append(node(element, depth: depth + 1))
        }
        return nodes
    }

    private mutating func node(_ value: MessagePackValue, depth: Int) -> AnyPanelNode {
        guard case .string(let kind) = value["kind"] else { return bad("a node without a kind") }
        switch kind {
        case "text": return .text(text(value["text"]), style(value["style"]))
        case "button":
            guard let input = value["send"] else { return bad("a button that sends nothing") }
            return .button(text(value["label"]), send: input)
        case "rows": return .rows(nodes(value["of"], depth: depth))
        case "columns": return .columns(nodes(value["of"], depth: depth))
        case "section": return .section(text(value["title"]), nodes(value["of"], depth: depth))
        case "table": return table(value, depth: depth)
        case "gauge":
            return .gauge(
                PanelGauge(
                    label: text(value["label"]), value: value["value"]?.asDouble ?? .nan, from: value["from"]?.asDouble ?? 0,
                    to: value["to"]?.asDouble ?? 1, unit: text(value["unit"])))
        case "progress":
            return .progress(
                PanelProgress(label: text(value["label"]), done: integer(value["done"]) ?? 0, total: integer(value["total"])))
        case "field": return field(value)
        case "space": return .space
        default: return bad("an unknown kind of node: \(kind)")
        }
    }

    private mutating func table(_ value: MessagePackValue, depth: Int) -> AnyPanelNode {
        guard case .array(let columns) = value["columns"], case .array(let rows) = value["rows"] else {
            return bad("a table without columns or rows")
        }
        var table = PanelTable<MessagePackValue>(columns: [], rows: [])
        for column in columns.prefix(limits.tableColumns) {
            let isRight = column["alignment"] == .string(PanelColumn.Alignment.right.rawValue)
            table.columns.append(PanelColumn(text(column["title"]), isRight ? .right : .left))
        }
        for row in rows {
            guard nodesLeft > 0, scalarsLeft > 0 else {
                table.rows.append(Array([.text("… and more", .quiet)].prefix(table.columns.count)))
                break
            }
            // A row counts even when it is empty.
            nodesLeft -= 1
            table.rows.append(Array(nodes(row, depth: depth).prefix(table.columns.count)))
        }
        return .table(table)
    }

    private mutating func field(_ value: MessagePackValue) -> AnyPanelNode {
        guard case .array(let examples) = value["send"], examples.count == 2 else { return bad("a field without its two inputs") }
        guard case .string(let name) = value["type"], let kind = PanelFieldKind(rawValue: name) else {
            return bad("a field of no known type")
        }
        let field = PanelField(
            label: text(value["label"]), kind: kind, holds: text(value["holds"]), first: examples[0], second: examples[1])
        guard FieldTemplate(field) != nil else {
            return bad("the inputs of the field \(field.label) differ by more than the typed value")
        }
        return .field(field)
    }

    private mutating func bad(_ reason: String) -> AnyPanelNode {
        .text(take(reason), .bad)
    }

    private mutating func text(_ value: MessagePackValue?) -> String {
        guard case .string(let text) = value else { return "" }
        return take(text)
    }

    /// Cuts what is too much for all texts together.
    private mutating func take(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: scalarsLeft, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else {
            scalarsLeft -= scalars.count
            return text
        }
        scalarsLeft = 0
        return String(scalars[..<end]) + "…"
    }

    private func style(_ value: MessagePackValue?) -> PanelStyle {
        guard case .string(let name) = value else { return .plain }
        return PanelStyle(rawValue: name) ?? .plain
    }

    private func integer(_ value: MessagePackValue?) -> Int? {
        guard case .int(let number) = value else { return nil }
        return Int(number)
    }
}
