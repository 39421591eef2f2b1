import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What a store says of the program's invariants.
@Suite struct InvariantWatchTests {
    private static func settings() -> StoreSettings {
        var settings = StoreSettings()
        settings.checksInvariants = true
        return settings
    }

    private static let broken = "invariant “the total is below 1000” "

    private func take(_ numbers: [Int], _ rig: Rig, from sequence: Int = 1) {
        rig.deliver(inputs(numbers.map { Shop.Input.add($0) }, from: sequence), from: client(1))
        rig.round()
    }

    private func told(_ rig: Rig) -> [String] { rig.notes.filter { $0.level == .error }.map(\.text) }

    @Test func `The group that breaks an invariant is told once for each start, in the log and in status`() throws {
        let rig = try Rig(Self.settings())
        rig.connectClient()
        take([999], rig)
        #expect(told(rig).isEmpty)
        let turn = rig.machine.head + 1
        take([1, -1, 1], rig, from: 2)
        #expect(
            told(rig) == [
                Self.broken
                    + "was broken by the group that ends with turn \(turn); `bisect` with its name finds the turn that broke it"
            ])
        let shown = rig.ask("status")?.value["invariants"]
        #expect(shown?["count"] == .int(2))
        #expect(shown?["broken"] == [["name": "the total is below 1000", "turn": .int(Int64(turn))]])

        let again = try rig.restarted()
        let start = again.machine.head
        again.round()
        #expect(
            told(again) == [
                Self.broken + "is broken as of turn \(start); `bisect` with its name finds the turn that broke it"
            ])
    }

    @Test func `A store that does not look says nothing`() throws {
        let rig = try Rig()
        rig.connectClient()
        take([1_000], rig)
        #expect(told(rig).isEmpty)
        #expect(rig.ask("status")?.value["invariants"] == .nil)
    }
}
