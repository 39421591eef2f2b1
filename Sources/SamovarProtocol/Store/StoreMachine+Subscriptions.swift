import SamovarCore

/// A message that a subscription has ordered for this time.
struct Firing: Equatable {
    /// The activation.
    let id: EffectID
    let nominal: Timestamp
    let message: [UInt8]
}

/// Timers and the life of the store, as messages to the program.
extension StoreMachine {
    /// What is to be sent next: moments in the life of the store first, then the timer that is due longest. While too many effects
    /// are open, timers wait as inputs do.
    mutating func nextFiring(now: Timestamp) -> Firing? {
        while let moment = lifecycleEvents.first {
            // An answer that was taken since may have ended its subscription.
            if state.subscriptions.isWanted(moment.id) { return moment }
            lifecycleEvents.removeFirst()
        }
        guard phase == .serving, !hasTooManyEffects else { return nil }
        return state.subscriptions.firing(now: now)
    }

    mutating func take(_ firing: Firing, now: Timestamp) {
        if lifecycleEvents.first == firing { lifecycleEvents.removeFirst() }
        let call = ProgramCall.firing(firing.id)
        let origin = Origin.subscription(firing.id, nominal: firing.nominal)
        // Nobody waits for an answer: this one is passed over, and the next one is tried.
        if giveUp(call, origin, root: nil, now: now) != nil { return }
        begin(call)
        do throws(GroupLimit) {
            let result = try state.engine.apply(.message(firing.message[...], origin, .open, root: 0), now: now, log: &log)
            if case .unreadable(let why) = result {
                return stop(.unencodable("the message of a subscription cannot be read again: \(why)".bounded(), root: head + 1))
            }
            end(call)
            counters.applied += 1
            state.time = now
            openLogged(now: now)
        } catch {
            stop(error)
        }
    }

    /// Lets those who want to know of a moment in the life of the store know of it.
    mutating func tell(_ moment: Lifecycle, now: Timestamp) {
        for subscription in state.subscriptions.subscriptions(to: moment) {
            lifecycleEvents.append(Firing(id: subscription.id, nominal: now, message: subscription.message))
        }
    }

    /// After a restart: the state says anew what it wants.
    mutating func resume(now: Timestamp) {
        quarantine.begin(.subscriptions, isAlone: true, after: head)
        state.engine.resubscribe(now: now, log: &log)
        quarantine.end()
        openLogged(now: now)
    }
}
