import SamovarCore
import Testing

@testable import SamovarSimulator

/// The judge's own arithmetic of times agrees with that of the program's schedules, which it must not share.
@Suite struct BelfryTests {
    private static let start = Timestamp(microseconds: 1_790_000_000_123_457)

    @Test func `a bell that is hung rings first and next when its subscription does`() throws {
        var dice = Dice(seed: 1, "bells")
        for _ in 0..<500 {
            let hung = HungBell(Bell.drawn(&dice), grain: 1, now: Self.start)
            guard case .timer(let schedule, let message) = hung.subscription(id: "bell").event else { continue }
            #expect(message == hung.message)
            var belfry = Belfry()
            _ = belfry.want(["bell": hung], turn: 7, now: Self.start)
            let id = EffectID(turn: 7, ordinal: Belfry.firstPlace)
            var peal = try #require(belfry.peal(id))
            #expect(peal.due == schedule.first(from: Self.start)?.microseconds)
            let due = try #require(peal.due)
            let late = Timestamp(microseconds: due + dice.time(0...400 * seconds))
            let nominal = schedule.nominal(due: Timestamp(microseconds: due), now: late)
            #expect(belfry.nominal(of: peal, now: late) == nominal.microseconds, "\(hung.bell)")
            belfry.rang(id, nominal: nominal.microseconds)
            peal = try #require(belfry.peal(id))
            #expect(peal.due == schedule.next(after: nominal)?.microseconds, "\(hung.bell)")
            belfry.returned(now: late)
            let after = schedule.next(after: nominal).flatMap { schedule.due($0, afterAbsenceUntil: late) }
            #expect(belfry.peal(id)?.due == after?.microseconds, "\(hung.bell)")
        }
    }

    @Test func `a bell keeps its activation while its times are the same`() {
        var belfry = Belfry()
        let bell = Bell(place: 0, kind: .every, milliseconds: 1_000)
        _ = belfry.want(["bell": HungBell(bell, grain: 1, now: Self.start)], turn: 1, now: Self.start)
        #expect(belfry.want(["bell": HungBell(bell, grain: 2, now: Self.start)], turn: 2, now: Self.start) == 0)
        #expect(belfry.peals["bell"]?.id.turn == 1 && belfry.peals["bell"]?.hung.grain == 2)
        let other = Bell(place: 0, kind: .every, milliseconds: 3_000)
        #expect(belfry.want(["bell": HungBell(other, grain: 3, now: Self.start)], turn: 3, now: Self.start) == 1)
        #expect(belfry.peals["bell"]?.id.turn == 3)
        #expect(belfry.want([:], turn: 4, now: Self.start) == 1 && belfry.peals.isEmpty)
    }

    @Test func `bells and stones are numbers and back`() {
        var dice = Dice(seed: 2, "codes")
        for _ in 0..<200 {
            let bell = Bell.drawn(&dice)
            #expect(Bell(code: bell.code) == bell)
            let stone = Stone.drawn(&dice)
            #expect(Stone(code: stone.code) == stone)
        }
        #expect(Bell(code: 15 << 4) == nil && Stone(code: 99 << 4) == nil)
    }
}
