import Testing

@testable import SamovarCore

@Suite struct InputGateTests {
    private static let turn = Turn.numbered(2)

    @Test func `A reason stands behind the gate's name, and is cut to a length`() {
        let gate = InputGate<Orchard>("size") { _, _, _ in String(repeating: "x", count: 5_000) }
        let text = gate.opened()(.quiet, Orchard.State(), Self.turn)
        #expect(text?.count == 1_000)
        #expect(text?.hasPrefix("size: xxx") == true && text?.hasSuffix("xxx… (5006 bytes)") == true)
    }

    @Test func `A gate without a reason lets pass`() {
        let gate = InputGate<Orchard>("size") { _, _, _ in nil }
        #expect(gate.opened()(.quiet, Orchard.State(), Self.turn) == nil)
    }

    @Test func `A gate may have a state of its own`() {
        let gate = InputGate<Orchard>("once") {
            var isUsed = false
            return { _, _, _ in
                defer { isUsed = true }
                return isUsed ? "only once" : nil
            }
        }
        let check = gate.opened()
        #expect(check(.quiet, Orchard.State(), Self.turn) == nil)
        #expect(check(.quiet, Orchard.State(), Self.turn) == "once: only once")
    }
}
