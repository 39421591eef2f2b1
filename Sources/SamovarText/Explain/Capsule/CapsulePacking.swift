package import SamovarCore
package import SamovarStore
import SamovarWire

/// A capsule in the making: tried, made smaller, and tried once more.
package struct CapsulePacking<P: Program> {
    private(set) var content: CapsuleContent
    package let goal: Bisection.Goal
    private let all: CapsuleReplay<P>.Outcome
    /// Whether it fails as its turns did.
    package let fails: Bool
    /// What a person should know of what was left out; nil if no more could be.
    package private(set) var remark: String?

    /// - Throws: `CapsuleError`; what asking an expression throws.
    package init(_ content: CapsuleContent, _ goal: Bisection.Goal) throws {
        self.content = content
        self.goal = goal
        all = try CapsuleReplay(content, of: P.self).run()
        fails = try goal.isReached(by: all)
    }

    /// Leaves out what is not needed to fail.
    package mutating func shrink(until isOver: () -> Bool) throws {
        let replay = try CapsuleReplay(content, of: P.self)
        let fixed = content.items.indices.filter { if case .started = content.items[$0].record.event { true } else { false } }
        var shrinking = Shrinking(content.units)
        let (goal, orders) = (goal, all.orders)
        try shrinking.run(until: isOver) { units in
            let outcome = try replay.run(fixed + units.flatMap { $0 }, matching: orders)
            guard try goal.isReached(by: outcome) else { return nil }
            let taken = Set(outcome.taken)
            return units.map { $0.filter(taken.contains) }.filter { !$0.isEmpty }
        }
        if shrinking.isCut {
            let tries = Shrinking<[Int]>.maximumTries
            remark = "the minute of --shrink, or its \(tries) tries, ran out: perhaps more could be left out"
        }
        content.items = (fixed + shrinking.elements.flatMap { $0 }).map { content.items[$0] }
    }

    /// The capsule, read again from its bytes and tried as a test will.
    ///
    /// - Throws: `CommandFailure` if it does not fail any more.
    package func packed() throws -> CapsuleContent {
        let read = try CapsuleContent(bytes: content.bytes)
        guard try goal.isReached(by: try CapsuleReplay(read, of: P.self).run()) else {
            throw CommandFailure(.badData, "the capsule does not fail as its turns did: is `update` deterministic? `verify` tells")
        }
        return read
    }
}

extension Bisection.Goal {
    /// - Parameter text: an expression, or the name of an invariant.
    /// - Throws: `CommandFailure` that points at what is wrong.
    package init<P: Program>(named text: String, for program: P.Type) throws(CommandFailure) {
        let names = P.invariants.map(\.name)
        if let index = names.firstIndex(of: text) {
            self = .broken(invariant: index)
            return
        }
        do throws(ExpressionError) {
            self = .expression(try Predicate(parsing: text))
        } catch {
            let end = error.description.hasSuffix("?") ? " Or" : ";"
            let hint = nearest(to: text, among: names).map { "\(end) did you mean the invariant “\($0)”?" } ?? ""
            throw CommandFailure(.usage, "the predicate cannot be read: \(error)\(hint)")
        }
    }

    fileprivate func isReached<P: Program>(by outcome: CapsuleReplay<P>.Outcome) throws -> Bool {
        switch self {
        case .expression(let predicate): try predicate.holds(of: outcome.state, in: P.self)
        case .broken(let index): outcome.broken.contains(P.invariants[index].name)
        }
    }
}
