import DequeModule

/// Members that are served in turn.
///
/// Thousands may leave at once, when a network is cut, so leaving must not search the line. Who leaves stays in it and is passed
/// over when its turn comes; when half of the line is gone, it is cleared at once.
struct RoundRobin<Member: Hashable> {
    private var line: Deque<Member> = []
    /// Those in the line that are no members any more.
    private var gone: Set<Member> = []

    var count: Int { line.count - gone.count }

    /// Adds who is no member. Who left a moment ago gets its old place.
    mutating func add(_ member: Member) {
        if gone.remove(member) == nil { line.append(member) }
    }

    mutating func remove(_ member: Member) {
        gone.insert(member)
        guard gone.count * 2 > line.count else { return }
        line.removeAll { gone.contains($0) }
        gone.removeAll()
    }

    /// Whose turn it is; it goes to the end of the line.
    mutating func next() -> Member? {
        while let member = line.popFirst() {
            guard gone.isEmpty || gone.remove(member) == nil else { continue }
            line.append(member)
            return member
        }
        return nil
    }

    func first(where condition: (Member) -> Bool) -> Member? {
        line.first { !gone.contains($0) && condition($0) }
    }
}
