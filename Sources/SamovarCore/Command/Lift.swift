/// A program inside another: its commands and subscriptions, in terms of the parent.
///
/// ```swift
/// case .clock(let message):
///     return Clock.update(&state.clock, message, turn)
///         .lift(under: "clock", message: { .clock($0) }, effect: { .clock($0) })
/// ```
///
/// Labels get the prefix in front, so that two children, or a child and its parent, never cancel or replace what is not
/// theirs. Nothing else is changed: queues, retries and limits stay as the child wants them.
extension Command {
    /// - Parameter output: what becomes of the child's outputs: orders of the parent, such as `.emit` or `.then`.
    public func lift<Q: Program>(
        into: Q.Type = Q.self, under prefix: String, message: (P.Message) -> Q.Message, effect: (P.Effect) -> Q.Effect,
        output: (P.Output) -> Command<Q>
    ) -> Command<Q> {
        .batch(
            map { order in
                switch order {
                case .run(let value, var options):
                    options.id = options.id?.under(prefix)
                    return .run(effect(value), options)
                case .cancel(let id): return .cancel(id.under(prefix))
                case .then(let value): return .then(message(value))
                case .emit(let value): return output(value)
                case .control(let control): return Command<Q>(.control(control.under(prefix)))
                }
            })
    }
}

extension Command where P.Output == Never {
    /// The orders of a child that emits nothing.
    public func lift<Q: Program>(
        into: Q.Type = Q.self, under prefix: String, message: (P.Message) -> Q.Message, effect: (P.Effect) -> Q.Effect
    ) -> Command<Q> {
        lift(under: prefix, message: message, effect: effect, output: impossible)
    }
}

extension Command where P.Output == Never, P.Effect == Never {
    /// The orders of a child that has no effects and emits nothing.
    public func lift<Q: Program>(
        into: Q.Type = Q.self, under prefix: String, message: (P.Message) -> Q.Message
    ) -> Command<Q> {
        lift(under: prefix, message: message, effect: impossible, output: impossible)
    }
}

extension Next {
    /// The start of a child program: its state goes into the parent's, its command is lifted.
    public func lift<Q: Program>(
        into: Q.Type = Q.self, under prefix: String, message: (P.Message) -> Q.Message, effect: (P.Effect) -> Q.Effect,
        state: (P.State) -> Q.State
    ) -> Next<Q> where P.Output == Never {
        .state(state(self.state), command.lift(under: prefix, message: message, effect: effect))
    }
}

extension Subscription {
    /// A subscription of a child, under its name.
    public func lift<Q: Program>(
        into: Q.Type = Q.self, under prefix: String, message: (P.Message) -> Q.Message, effect: (P.Effect) -> Q.Effect
    ) -> Subscription<Q> {
        let wanted: Subscription<Q>.Event =
            switch event {
            case .timer(let timer, let value): .timer(timer, message(value))
            case .lifecycle(let moment, let value): .lifecycle(moment, message(value))
            case .source(let value, let options): .source(effect(value), options)
            }
        return Subscription<Q>(id: id.under(prefix), event: wanted)
    }
}

extension Subscription where P.Effect == Never {
    /// A subscription of a child that has no effects.
    public func lift<Q: Program>(
        into: Q.Type = Q.self, under prefix: String, message: (P.Message) -> Q.Message
    ) -> Subscription<Q> {
        lift(under: prefix, message: message, effect: impossible)
    }
}

extension Control {
    /// The same of a child: its labels are under its name.
    fileprivate func under(_ prefix: String) -> Control {
        switch self {
        case .requeue(let effects): .requeue(effects.under(prefix))
        case .drop(let effects): .drop(effects.under(prefix))
        case .pause(.label(let label)): .pause(.label(label.under(prefix)))
        case .resume(.label(let label)): .resume(.label(label.under(prefix)))
        case .rule(let queue, let rules): .rule(queue, rules.under(prefix))
        case .pause(.queue), .resume(.queue): self
        }
    }
}

extension DeadEffects {
    fileprivate func under(_ prefix: String) -> DeadEffects {
        if case .label(let label) = self { .label(label.under(prefix)) } else { self }
    }
}

extension QueueRules {
    fileprivate func under(_ prefix: String) -> QueueRules {
        let shares = shares.map { shares in
            Shares(Dictionary(uniqueKeysWithValues: shares.weights.map { ($0.under(prefix), $1) }), others: shares.others)
        }
        return QueueRules(rate: rate, shares: shares)
    }
}

/// What becomes of a value that there cannot be.
private func impossible<Result>(_ never: Never) -> Result {}
