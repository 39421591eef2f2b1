import DequeModule
import SamovarCore

/// A message that a subscription has ordered for this time.
struct Firing: Equatable {
    /// The activation.
    let id: EffectID
    let nominal: Timestamp
    let message: [UInt8]
}

/// Timers and moments in the life of the store, as messages to the program: moments first, then the timer that is due longest.
///
/// What was noted may not be wanted any more when its turn comes, so each is checked against the state at that moment.
struct Firings {
    /// Messages to those who want to know of a moment in the life of the store.
    private var moments: Deque<Firing> = []

    var isEmpty: Bool { moments.isEmpty }

    /// Lets those who want to know of a moment know of it.
    mutating func tell(_ moment: Lifecycle, _ subscriptions: SubscriptionTable, now: Timestamp) {
        for subscription in subscriptions.subscriptions(to: moment) {
            moments.append(Firing(id: subscription.id, nominal: now, message: subscription.message))
        }
    }

    /// What is to be sent next.
    ///
    /// - Parameter timersMayFire: false while timers wait as inputs do.
    mutating func next(_ subscriptions: SubscriptionTable, timersMayFire: Bool, now: Timestamp) -> Firing? {
        while let moment = moments.first {
            // An answer that was taken since may have ended its subscription.
            if subscriptions.isWanted(moment.id) { return moment }
            moments.removeFirst()
        }
        return timersMayFire ? subscriptions.firing(now: now) : nil
    }

    /// Takes what `next` has named.
    mutating func take(
        _ firing: Firing, now: Timestamp, _ scheduler: inout EffectScheduler, _ turns: inout Turns, _ out: inout Outlet
    ) throws(StopReason) {
        if moments.first == firing { moments.removeFirst() }
        let origin = Origin.subscription(firing.id, nominal: firing.nominal)
        let input = EngineInput.message(
            EngineMessage(bytes: firing.message[...], origin: origin, role: .open, checkpoint: nil, root: 0))
        let taken = try turns.take(.firing(firing.id), input, origin, root: nil, now: now, &out)
        // Nobody waits for an answer: one that is given up is passed over, and the next one is tried.
        if case .applied = taken { scheduler.enterOrders(now: now, &turns) }
    }
}
