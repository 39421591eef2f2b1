import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The queue before the way out.
@Suite struct GateTests {
    @Test func `What tells of a durable turn leaves at once, and what tells of a later one when its turn is on disk`() {
        var gate = Gate<String>(durable: 3)
        #expect(gate.pass("view 3", floor: 3) == "view 3")
        #expect(gate.pass("view 4", floor: 4) == nil)
        #expect(gate.open(to: 3) == [])
        #expect(gate.open(to: 4) == ["view 4"])
        #expect(gate.pass("receipt 4", floor: 4) == "receipt 4")
        #expect(gate.isEmpty && gate.durable == 4)
    }

    @Test func `What waits leaves in the order in which it came, as far as the disk has its turns`() {
        var gate = Gate<String>(durable: 0)
        for item in ["view 2", "task 1", "receipt 2"] { #expect(gate.pass(item, floor: 2) == nil) }
        for item in ["view 5", "receipt 3"] { #expect(gate.pass(item, floor: 5) == nil) }
        #expect(gate.open(to: 1) == [], "what tells of turn 1 may be made at turn 2")
        #expect(gate.open(to: 4) == ["view 2", "task 1", "receipt 2"])
        #expect(gate.open(to: 2) == [] && gate.durable == 4, "a turn that is on disk stays there")
        #expect(gate.open(to: 5) == ["view 5", "receipt 3"])
    }

    @Test func `While it is held nothing leaves, and then all does in its order`() {
        var gate = Gate<String>(durable: 3)
        #expect(gate.hold(true) == [])
        #expect(gate.pass("view 3", floor: 3) == nil)
        #expect(gate.open(to: 4) == [])
        #expect(gate.pass("receipt 4", floor: 4) == nil)
        #expect(gate.hold(false) == ["view 3", "receipt 4"] && gate.isEmpty)
    }

    @Test func `A frame never overtakes one before it, for floors never fall`() async {
        await #expect(processExitsWith: .failure) {
            var gate = Gate<String>(durable: 3)
            _ = gate.pass("view 5", floor: 5)
            _ = gate.pass("receipt 3", floor: 3)
        }
    }
}
