/// Which effects have which label, and what a policy makes of one more: the one place where policies are decided.
///
/// | an effect with a label | `insert` | `die` | `revive` | `remove` |
/// |---|---|---|---|---|
/// | is none of its members | a member, the last | – | – | – |
/// | open | – | gone, or dead in its place if its lane stops | – | gone |
/// | dead in its place | – | – | open in its place | gone |
package struct OpenLabels: Equatable, Sendable {
    /// What a policy makes of an effect that is ordered.
    package enum Admission: Equatable, Sendable {
        case opened
        /// It is opened, and the open ones are cancelled.
        case replacing
        case passedOver
        /// It fails without an attempt.
        case crowded
    }

    private struct Member: Equatable, Sendable {
        let id: EffectID
        /// It waits unless it is among so many first members; nil if it waits for nobody.
        let width: Int?
        var isDead = false
    }

    /// The members with one label, in the order in which they were opened. Those that go are nearly always among the first, so that what goes
    /// leaves its gap at the beginning, where it costs nothing.
    private struct Line: Equatable, Sendable {
        private var all: [Member] = []
        private var gap = 0

        var members: ArraySlice<Member> { all[gap...] }

        mutating func append(_ member: Member) { all.append(member) }

        func place(of id: EffectID) -> Int? { members.firstIndex { $0.id == id }.map { $0 - gap } }

        mutating func set(isDead: Bool, at place: Int) { all[gap + place].isDead = isDead }

        mutating func remove(at place: Int) {
            for index in stride(from: gap + place, to: gap, by: -1) { all[index] = all[index - 1] }
            gap += 1
            guard gap > 16, gap > all.count / 2 else { return }
            all.removeFirst(gap)
            gap = 0
        }

        mutating func removeOpen() {
            all = members.filter(\.isDead)
            gap = 0
        }

        static func == (a: Self, b: Self) -> Bool { a.members == b.members }
    }

    private var members: [Label: Line] = [:]

    package init() {}

    /// Open effects with this label, in the order in which they were opened; crowded ones are not among them.
    package subscript(label: Label) -> [EffectID] { members[label]?.members.filter { !$0.isDead }.map(\.id) ?? [] }

    package func admission(of label: Label, _ policy: Policy) -> Admission {
        if let lane = policy.lane { return members[label]?.members.count ?? 0 < lane.limit ? .opened : .crowded }
        return switch policy {
        case .latest where hasOpen(label): .replacing
        case .first where hasOpen(label): .passedOver
        default: .opened
        }
    }

    private func hasOpen(_ label: Label) -> Bool { members[label]?.members.contains { !$0.isDead } ?? false }

    /// Takes out all that are open; returns them in the order in which they were opened. The dead keep their places.
    package mutating func removeOpen(_ label: Label) -> [EffectID] {
        let open = self[label]
        members[label]?.removeOpen()
        if members[label]?.members.isEmpty == true { members[label] = nil }
        return open
    }

    package mutating func insert(_ id: EffectID, _ label: Label, _ policy: Policy) {
        members[label, default: Line()].append(Member(id: id, width: policy.lane?.width))
    }

    /// Returns the effects that need not wait any more.
    package mutating func remove(_ id: EffectID, _ label: Label) -> [EffectID] {
        guard let place = members[label]?.place(of: id) else { return [] }
        members[label]?.remove(at: place)
        guard let others = members[label]?.members, !others.isEmpty else {
            members[label] = nil
            return []
        }
        // Whoever was behind it has moved up by one.
        return (place..<max(place, min(others.count, Policy.widthLimit))).compactMap { place in
            let other = others[others.startIndex + place]
            return other.width == place + 1 && !other.isDead ? other.id : nil
        }
    }

    /// An open effect is dead; returns those that need not wait any more.
    package mutating func die(_ id: EffectID, _ label: Label, _ policy: Policy) -> [EffectID] {
        guard policy.lane?.stops == true else { return remove(id, label) }
        set(id, label, isDead: true)
        return []
    }

    /// Whether a dead effect has kept its place, in which it is open from now on.
    package mutating func revive(_ id: EffectID, _ label: Label) -> Bool { set(id, label, isDead: false) }

    @discardableResult
    private mutating func set(_ id: EffectID, _ label: Label, isDead: Bool) -> Bool {
        guard let place = members[label]?.place(of: id) else { return false }
        members[label]?.set(isDead: isDead, at: place)
        return true
    }

    /// Whether an effect has to wait until others with its label are closed.
    package func isBehindAnother(_ id: EffectID, _ options: RunOptions) -> Bool {
        guard let width = options.policy.lane?.width, let label = options.id, let members = members[label]?.members else {
            return false
        }
        return !members.prefix(width).contains { $0.id == id }
    }
}
