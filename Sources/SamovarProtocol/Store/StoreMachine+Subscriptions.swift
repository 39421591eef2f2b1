import SamovarCore

/// Timers and the life of the store, as messages to the program.
extension StoreMachine {
    /// Fires the timer that is due longest; false if none is. While too many effects are open, timers wait as inputs do.
    mutating func fireTimer(now: Timestamp) -> Bool {
        guard phase == .serving, state.ledger.open.count < settings.openEffectsAtDoor,
            let firing = state.subscriptions.firing(now: now)
        else { return false }
        take(firing.message, of: firing.id, nominal: firing.nominal, now: now)
        return true
    }

    /// Sends the messages of those who want to know of a moment in the life of the store.
    mutating func tell(_ moment: Lifecycle, now: Timestamp) {
        for subscription in state.subscriptions.subscriptions(to: moment) where phase == .serving {
            take(subscription.message, of: subscription.id, nominal: now, now: now)
        }
    }

    /// After a restart: the state says anew what it wants, and hears that the store is back.
    mutating func resume(now: Timestamp) {
        state.engine.resubscribe(now: now, log: log)
        openLogged(now: now)
    }

    private mutating func take(_ message: [UInt8], of activation: EffectID, nominal: Timestamp, now: Timestamp) {
        let origin = Origin.subscription(activation, nominal: nominal)
        do {
            try state.engine.take(firing: message, origin: origin, now: now, log: log)
            counters.applied += 1
            state.time = now
            openLogged(now: now)
        } catch let limit as GroupLimit {
            stop(.groupLimit(limit))
        } catch {
            stop(.unencodable("the message of a subscription cannot be read again: \(error)"))
        }
    }
}
