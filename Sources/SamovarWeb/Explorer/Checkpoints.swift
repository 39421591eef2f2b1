import SamovarStore

/// Where the explorer keeps states.
protocol CheckpointStore: AnyObject {
    /// Of those that are kept, oldest first.
    var turns: [Int] { get }
    /// Keeps a state, and drops others if they are too much.
    func save(_ checkpoint: PastCheckpoint) throws
    /// Nil if it cannot be read, and then it is not kept any more.
    func load(_ turn: Int) -> PastCheckpoint?
    /// Keeps one state out of memory for a while, instead of the one before; false if there is no room for it.
    func putAside(_ state: [UInt8]) -> Bool
    /// Gives it back, once; nil if it cannot be read.
    func takeBack() -> [UInt8]?
}

/// When a state is kept.
struct CheckpointPlan {
    /// Turns from one to the next, at least; or so many bytes of messages.
    static let turns = 100_000
    static let messageBytes = 64 << 20
    /// Bytes of all that are kept.
    static let maximumBytes = 1 << 30

    let kept: [Int]

    /// - Parameter bytes: of the messages since the one before.
    func isDue(_ turn: Int, bytes: Int) -> Bool {
        let former = kept.last { $0 <= turn } ?? 0
        return turn - former >= Self.turns || bytes >= Self.messageBytes
    }

    /// The one to drop when all together are too much: the one without which the distance between its neighbours is the least.
    static func dropped(of turns: [Int]) -> Int? {
        guard turns.count > 2 else { return turns.first }
        let places = turns.indices.dropFirst().dropLast()
        return places.min { turns[$0 + 1] - turns[$0 - 1] < turns[$1 + 1] - turns[$1 - 1] }.map { turns[$0] }
    }
}
