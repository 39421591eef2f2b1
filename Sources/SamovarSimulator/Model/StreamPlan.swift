import MessagePack
import SamovarPeers
import SamovarWire

/// What the handler of a `streaming` or `flowing` effect streams: items from 1, each in a message of its own, some with a checkpoint that names
/// the item. An attempt goes on with the item after the checkpoint that it is given.
struct StreamPlan {
    let inputID: UInt64
    let items: Int
    var next: Int
    /// Between two items.
    let pause: Instant
    /// The item before which the handler throws.
    let brokenAt: Int?
    var window: StreamWindow

    init(of effect: ModelProgram.Effect, resume: StreamPlace?, _ random: inout SeededRandom) {
        inputID = effect.inputID
        let isOfSource = effect.work == .flowing
        items = isOfSource ? [2, 8, 30][Int(inputID % 3)] : inputID % 50 == 7 ? 80 : [1, 2, 3, 5, 8][Int(inputID % 5)]
        next = (resume?.checkpoint.flatMap(Self.item) ?? 0) + 1
        pause = random.about(random.pick(isOfSource ? [10, 50, 200] : [3, 3, 10, 40]) * milliseconds)
        // One that has told nothing counts as failed: only so a source is given up.
        brokenAt = isOfSource && random.chance(0.2) ? next : random.chance(0.15) ? random.number(1...items) : nil
        window = StreamWindow(after: resume)
    }

    var isOver: Bool { next > items }
    var isBroken: Bool { brokenAt.map { next >= $0 } ?? false }

    /// What is streamed for the next item.
    var message: [UInt8] { packed(ModelProgram.Message.streamed(inputID, item: next)) }
    var checkpoint: [UInt8]? { inputID % 3 == 0 || (Int(inputID) + next) % 2 == 0 ? packed(next) : nil }

    private static func item(of checkpoint: [UInt8]) -> Int? {
        // Its own bytes can be read; a store that gives it others is found by the checker.
        try? MessagePackDecoder().decode(Int.self, from: checkpoint)
    }
}
