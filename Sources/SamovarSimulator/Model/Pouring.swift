import MessagePack
import SamovarProtocol

/// What the handler of a `pouring` effect streams: items from 1, each in a message of its own, some with a checkpoint that names
/// the item. An attempt goes on with the item after the checkpoint that it is given.
struct Pouring {
    let grain: UInt64
    let items: Int
    var next: Int
    /// Between two items.
    let pause: Instant
    /// The item before which the handler throws.
    let brokenAt: Int?
    var window: StreamWindow

    init(of effect: Mill.Effect, resume: StreamPlace?, _ dice: inout Dice) {
        grain = effect.grain
        items = grain % 50 == 7 ? 80 : [1, 2, 3, 5, 8][Int(grain % 5)]
        next = (resume?.checkpoint.flatMap(Self.item) ?? 0) + 1
        pause = dice.about(dice.pick([3, 3, 10, 40]) * milliseconds)
        brokenAt = dice.chance(0.15) ? dice.number(1...items) : nil
        window = StreamWindow(after: resume)
    }

    var isOver: Bool { next > items }
    var isBroken: Bool { brokenAt.map { next >= $0 } ?? false }

    /// What is streamed for the next item.
    var message: [UInt8] { packed(Mill.Message.poured(grain, item: next)) }
    var checkpoint: [UInt8]? { grain % 3 == 0 || (Int(grain) + next) % 2 == 0 ? packed(next) : nil }

    private static func item(of checkpoint: [UInt8]) -> Int? {
        // Its own bytes can be read; a store that gives it others is found by the judge.
        try? MessagePackDecoder().decode(Int.self, from: checkpoint)
    }
}
