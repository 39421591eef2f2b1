package import SamovarCore

/// Views for tests of programs: what a person would ask the admin socket for.
extension StoreMachine {
    /// Effects that are open, those of sources included, in the order in which they were ordered.
    package var openEffects: [OpenEffect] { state.ledger.open.values.sorted { $0.id < $1.id } }

    /// Effects that failed for good and of which the program made no message, oldest first.
    package var deadEffects: [(effect: OpenEffect, failure: Failure)] {
        state.ledger.dead.values.sorted { $0.effect.id < $1.effect.id }.map { ($0.effect, $0.failure) }
    }

    /// Outputs of turns after `id`, oldest first.
    package func outputs(after id: EffectID) -> [EmittedOutput] { state.outputs.outputs(after: id, bytes: .max) ?? [] }

    /// Whether an effect has to wait until another with its label is closed.
    package func isBehindAnother(_ effect: OpenEffect) -> Bool { state.ledger.isBehindAnother(effect) }
}
