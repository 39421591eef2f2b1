import SamovarCore
import Testing

@testable import SamovarProtocol

/// What the ledger tells of effects that may be handed out.
@Suite struct EffectLedgerTests {
    private func effect(_ turn: Int, root: Int, _ options: RunOptions = RunOptions()) -> OpenEffect {
        OpenEffect(
            id: EffectID(turn: turn, ordinal: 0), root: root, options: options, payload: [0x01], now: Timestamp(microseconds: 7))
    }

    @Test func `Only an effect that nothing can have closed since is handed out without another look`() {
        var ledger = EffectLedger()
        ledger.order(effect(1, root: 1))
        ledger.order(effect(2, root: 1, RunOptions(id: "label")))
        ledger.order(effect(3, root: 1, RunOptions(delay: .seconds(1))))
        // The state may want a source, and no longer want it, before anybody has followed.
        ledger.order(effect(4, root: 0))
        #expect(ledger.changes.opened.map(\.id.turn) == [1, 2, 3, 4])
        #expect(ledger.changes.opened.map(\.isUsual) == [true, false, false, false])
    }

    @Test func `An effect without options has all the fields of one with them`() {
        let usual = effect(1, root: 1)
        #expect(usual.isUsual && usual.options == .default && usual.instance == .main && usual.label == nil && usual.timeout == nil)
        #expect(usual.history == OpenEffect.History(notBefore: Timestamp(microseconds: 7)) && usual.payload == [0x01])
        var failed = usual
        failed.history.failures = 2
        #expect(!failed.isUsual && failed.failures == 2 && failed.deaths == 0 && failed != usual && failed.id == usual.id)
        failed.history.failures = 0
        #expect(failed.isUsual && failed == usual, "nothing has become of it after all")
        let labelled = effect(1, root: 1, RunOptions(id: "label"))
        #expect(labelled.label == "label" && labelled != usual && labelled == effect(1, root: 1, RunOptions(id: "label")))
    }
}
