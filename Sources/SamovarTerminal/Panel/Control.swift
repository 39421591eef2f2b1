import MessagePack
import SamovarCore

/// A button or a field of a panel: what can have the focus.
struct Control: Equatable {
    /// What makes it the same control in another view, wherever it stands there.
    struct Identity: Hashable {
        let label: String
        /// What it sends; of a field the two inputs.
        let inputs: [MessagePackValue]
        /// Among equal ones, its place.
        var occurrence = 0
    }

    enum Role: Equatable {
        case button(send: MessagePackValue)
        case field(PanelField<MessagePackValue>)
    }

    var identity: Identity
    let role: Role
    /// The indices that lead to it from the root.
    let path: [Int]

    var isField: Bool {
        if case .field = role { true } else { false }
    }

    /// All controls of a panel in the order in which they are read.
    static func all(of panel: AnyPanel) -> [Control] {
        var found: [Control] = []
        collect(panel.nodes, [], &found)
        var occurrences: [Identity: Int] = [:]
        for index in found.indices {
            let occurrence = occurrences[found[index].identity, default: 0]
            occurrences[found[index].identity] = occurrence + 1
            found[index].identity.occurrence = occurrence
        }
        return found
    }

    private static func collect(_ nodes: [AnyPanelNode], _ path: [Int], _ found: inout [Control]) {
        for (index, node) in nodes.enumerated() {
            let path = path + [index]
            switch node {
            case .button(let label, let input):
                found.append(Control(identity: Identity(label: label, inputs: [input]), role: .button(send: input), path: path))
            case .field(let field):
                let identity = Identity(label: field.label, inputs: [field.first, field.second])
                found.append(Control(identity: identity, role: .field(field), path: path))
            case .rows(let nodes), .columns(let nodes), .section(_, let nodes): collect(nodes, path, &found)
            case .table(let table):
                for (row, nodes) in table.rows.enumerated() { collect(nodes, path + [row], &found) }
            case .text, .gauge, .progress, .space: break
            }
        }
    }
}
