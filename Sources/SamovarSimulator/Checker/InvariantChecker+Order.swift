import SamovarCore
import SamovarWire

/// The order in which frames leave the store: that in which turns made them.
extension InvariantChecker {
    func requireOrder(_ frame: Frame, to peer: Process?, on link: Link?) throws(Violation) {
        switch frame {
        case .receipt(let outcomes, _):
            if let client = peer as? ClientProcess {
                for outcome in outcomes { try requireNext(outcome, of: client.session) }
            }
            told(outcomes.map(\.turn).max() ?? 0)
        case .task(let tasks, let number):
            if let link, !world.swarm.isHarsh {
                let before = link.tasks.last
                try require(
                    link.tasks.send(tasks.count, through: number), .i17,
                    expected: "task \(before + 1) as the next for \(link.peer.name)",
                    seen: "\(tasks.count) up to \(number)")
            }
            told(tasks.map(\.effect.turn).max() ?? 0)
        case .cancel(let leases, let number):
            guard let link, !world.swarm.isHarsh else { break }
            let next = leases.isEmpty ? link.cancels : link.cancels + 1
            try require(
                number == next, .i17, expected: "CANCEL \(next) for \(link.peer.name)", seen: "number \(number), of \(leases.count)"
            )
            link.cancels = number
        case .outputs(let page): told(page.outputs.last?.id.turn ?? 0)
        case .settled(let turn, _): told(turn)
        default: break
        }
    }

    /// What is published is made at the newest turn of its time, and leaves before whatever a later turn made. A view that is asked for
    /// while the disk is full may be older.
    func requireNewest(_ frame: Frame) throws(Violation) {
        switch frame {
        case .tick(_, let head, _, _): try requireNewest(head, "a tick")
        case .view(_, let turn, _): try requireNewest(turn, "a published view")
        default: break
        }
    }

    private func told(_ turn: Int) { reference.told = max(reference.told, turn) }

    private func requireNewest(_ turn: Int, _ what: String) throws(Violation) {
        try require(
            turn >= reference.told, .i17, expected: "\(what) of turn \(reference.told) or later, of which peers were told",
            seen: "one of turn \(turn)")
        told(turn)
    }

    /// Whoever is told what became of an input has been told of all inputs before it.
    func requireNext(_ outcome: Outcome, of session: SessionID) throws(Violation) {
        guard !world.swarm.isHarsh else { return }
        let last = reference.receipts[session] ?? 0
        try require(
            outcome.sequence <= last + 1, .i17, expected: "a receipt for input \(last + 1) of session \(session)",
            seen: "one for input \(outcome.sequence)")
        reference.receipts[session] = max(last, outcome.sequence)
    }
}
