package import MessagePack
package import SamovarCore

/// A button or a field of a panel: what can have the focus.
package struct PanelControl: Equatable {
    /// What makes it the same control in another view, wherever it stands there.
    package struct Identity: Hashable {
        package let label: String
        /// What it sends; of a field the two inputs.
        package let inputs: [MessagePackValue]
        /// Among equal ones, its place.
        package var occurrence = 0
    }

    package enum Role: Equatable {
        case button(send: MessagePackValue)
        case field(PanelField<MessagePackValue>)
    }

    package var identity: Identity
    package let role: Role
    /// The indices that lead to it from the root.
    package let path: [Int]

    package var isField: Bool {
        if case .field = role { true } else { false }
    }

    /// All controls of a panel in the order in which they are read.
    package static func all(of panel: AnyPanel) -> [PanelControl] {
        var found: [PanelControl] = []
        collect(panel.nodes, [], &found)
        var occurrences: [Identity: Int] = [:]
        for index in found.indices {
            let occurrence = occurrences[found[index].identity, default: 0]
            occurrences[found[index].identity] = occurrence + 1
            found[index].identity.occurrence = occurrence
        }
        return found
    }

    private static func collect(_ nodes: [AnyPanelNode], _ path: [Int], _ found: inout [PanelControl]) {
        for (index, node) in nodes.enumerated() {
            let path = path + [index]
            switch node {
            case .button(let label, let input):
                found.append(
                    PanelControl(identity: Identity(label: label, inputs: [input]), role: .button(send: input), path: path))
            case .field(let field):
                let identity = Identity(label: field.label, inputs: [field.first, field.second])
                found.append(PanelControl(identity: identity, role: .field(field), path: path))
            case .rows(let nodes), .columns(let nodes), .section(_, let nodes): collect(nodes, path, &found)
            case .table(let table):
                for (row, nodes) in table.rows.enumerated() { collect(nodes, path + [row], &found) }
            case .text, .gauge, .progress, .space: break
            }
        }
    }
}
