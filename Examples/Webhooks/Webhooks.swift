import Samovar

/// Delivers events to web hooks: to each endpoint one after the other, in order, at least once, and each event under one key.
///
/// An endpoint is a lane, a label whose effects run one at a time. An event that cannot be delivered is dead and stops its lane, so that
/// nothing overtakes it: until a probe finds its endpoint up again, or a person requeues it or drops it.
enum Webhooks: Program {
    struct State: Portable {
        var endpoints: [String: Endpoint] = [:]
        var isPaused = false
    }

    struct Endpoint: Portable {
        let url: String
        var delivered = 0
        /// Accepted and not delivered yet, the dead one included.
        var waiting = 0
        var isPaused = false
        /// The event that has stopped the lane.
        var dead: DeadEvent?
    }

    struct DeadEvent: Portable {
        let id: String
        let reason: String
    }

    struct Event: Portable {
        let endpoint: String
        let id: String
        let body: String
    }

    enum Input: Portable {
        case register(endpoint: String, url: String)
        case event(endpoint: String, id: String, body: String)
        /// What the buttons of the panel send.
        case requeue(endpoint: String), drop(endpoint: String)
        /// An endpoint, or all of them.
        case pause(endpoint: String?), resume(endpoint: String?)
    }

    enum Refusal: Error, Portable {
        case unknownEndpoint, tooManyEndpoints, nothingIsDead
    }

    enum Message: Portable {
        case registered(endpoint: String, url: String)
        case accepted(Event)
        case delivered(endpoint: String)
        case died(endpoint: String, DeadEvent)
        case requeueWanted(endpoint: String), dropWanted(endpoint: String)
        case paused(endpoint: String?), resumed(endpoint: String?)
        case probeDue(endpoint: String)
        case probed(endpoint: String, isUp: Bool)
        /// An operator did it, with the command `effects`.
        case requeued(endpoint: String), dropped(endpoint: String, id: String)
    }

    enum Effect: Portable {
        case deliver(Event, url: String)
        case probe(endpoint: String, url: String)

        var delivery: (event: Event, url: String)? { if case .deliver(let event, let url) = self { (event, url) } else { nil } }
        var probe: (endpoint: String, url: String)? { if case .probe(let name, let url) = self { (name, url) } else { nil } }
    }

    static let endpointLimit = 1_000
    static let deliveries: Queue = "deliveries"
    static let probes: Queue = "probes"

    static func lane(_ endpoint: String) -> Label { "endpoint \(endpoint)" }

    // snippet: rule of a queue
    /// At most 500 attempts a second over all workers; and an endpoint with many events does not hold up the others.
    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Webhooks> {
        .state(State(), .rule(deliveries, QueueRules(rate: .init(500, per: .seconds(1), burst: 50), shares: .init())))
    }
    // end

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .register(let endpoint, let url):
            guard state.endpoints.count < endpointLimit || state.endpoints[endpoint] != nil else { throw .tooManyEndpoints }
            return .registered(endpoint: endpoint, url: url)
        case .event(let endpoint, let id, let body):
            guard state.endpoints[endpoint] != nil else { throw .unknownEndpoint }
            return .accepted(Event(endpoint: endpoint, id: id, body: body))
        case .requeue(let endpoint):
            guard state.endpoints[endpoint]?.dead != nil else { throw .nothingIsDead }
            return .requeueWanted(endpoint: endpoint)
        case .drop(let endpoint):
            guard state.endpoints[endpoint]?.dead != nil else { throw .nothingIsDead }
            return .dropWanted(endpoint: endpoint)
        case .pause(let endpoint):
            guard endpoint == nil || state.endpoints[endpoint ?? ""] != nil else { throw .unknownEndpoint }
            return .paused(endpoint: endpoint)
        case .resume(let endpoint):
            guard endpoint == nil || state.endpoints[endpoint ?? ""] != nil else { throw .unknownEndpoint }
            return .resumed(endpoint: endpoint)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Webhooks> {
        switch message {
        case .registered(let endpoint, let url):
            if state.endpoints[endpoint]?.url != url { state.endpoints[endpoint] = Endpoint(url: url) }
        case .accepted(let event):
            guard let url = state.endpoints[event.endpoint]?.url else { return .none }
            state.endpoints[event.endpoint]?.waiting += 1
            return deliver(event, to: url)
        case .delivered(let endpoint):
            state.endpoints[endpoint]?.delivered += 1
            state.endpoints[endpoint]?.waiting -= 1
        case .died(let endpoint, let event): state.endpoints[endpoint]?.dead = event
        case .requeueWanted(let endpoint), .probed(let endpoint, isUp: true):
            guard state.endpoints[endpoint]?.dead != nil else { return .none }
            state.endpoints[endpoint]?.dead = nil
            return .requeue(lane(endpoint))
        case .dropWanted(let endpoint):
            forgetDead(of: endpoint, &state)
            return .drop(lane(endpoint))
        case .paused(nil):
            state.isPaused = true
            return .pause(queue: deliveries)
        case .resumed(nil):
            state.isPaused = false
            return .resume(queue: deliveries)
        case .paused(let endpoint?):
            state.endpoints[endpoint]?.isPaused = true
            return .pause(lane(endpoint))
        case .resumed(let endpoint?):
            state.endpoints[endpoint]?.isPaused = false
            return .resume(lane(endpoint))
        case .probeDue(let endpoint):
            guard let url = state.endpoints[endpoint]?.url else { return .none }
            return .run(
                .probe(endpoint: endpoint, url: url), id: "probe \(endpoint)", queue: probes, policy: .first, timeout: .seconds(5))
        case .probed(_, isUp: false): break
        case .requeued(let endpoint): state.endpoints[endpoint]?.dead = nil
        case .dropped(let endpoint, let id):
            if state.endpoints[endpoint]?.dead?.id == id { forgetDead(of: endpoint, &state) }
        }
        return .none
    }

    // snippet: lane
    private static func deliver(_ event: Event, to url: String) -> Command<Webhooks> {
        .run(
            .deliver(event, url: url), id: lane(event.endpoint), queue: deliveries,
            policy: .lane(limit: 100_000, behindDead: .stops),
            retry: .backoff(first: .milliseconds(100), max: .seconds(10), attempts: 5).keepingDead, timeout: .seconds(10))
    }
    // end

    private static func forgetDead(of endpoint: String, _ state: inout State) {
        guard state.endpoints[endpoint]?.dead != nil else { return }
        state.endpoints[endpoint]?.dead = nil
        state.endpoints[endpoint]?.waiting -= 1
    }

    /// A notice: the event stays dead, and what it does when it is requeued is told as well.
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        switch effect {
        case .deliver(let event, _): .died(endpoint: event.endpoint, DeadEvent(id: event.id, reason: failure.description))
        case .probe(let endpoint, _): .probed(endpoint: endpoint, isUp: false)
        }
    }

    // snippet: operated
    static func operated(_ action: OperatorAction<Webhooks>) -> Message? {
        switch action {
        case .requeued(.deliver(let event, _), _): .requeued(endpoint: event.endpoint)
        case .dropped(.deliver(let event, _), _): .dropped(endpoint: event.endpoint, id: event.id)
        case .paused(.queue(deliveries)): .paused(endpoint: nil)
        case .resumed(.queue(deliveries)): .resumed(endpoint: nil)
        default: nil
        }
    }
    // end

    /// An endpoint whose lane has stopped is asked every other second whether it is up again.
    static func subscriptions(_ state: State) -> [Subscription<Webhooks>] {
        state.endpoints.keys.sorted().filter { state.endpoints[$0]?.dead != nil }.map { endpoint in
            .every(.seconds(2), id: "probe \(endpoint)", send: .probeDue(endpoint: endpoint))
        }
    }

    static func view(_ state: State) -> Panel<Input> {
        let rows = state.endpoints.sorted { $0.key < $1.key }.map { name, endpoint -> [PanelNode<Input>] in
            [
                .text(name), .text("\(endpoint.delivered)"), .text("\(endpoint.waiting)"),
                endpoint.isPaused
                    ? .button("resume", send: .resume(endpoint: name)) : .button("pause", send: .pause(endpoint: name)),
            ]
                + (endpoint.dead.map { dead in
                    [
                        .button("requeue", send: .requeue(endpoint: name)), .button("drop", send: .drop(endpoint: name)),
                        .text("\(dead.id): \(dead.reason)", .bad),
                    ]
                } ?? [])
        }
        return Panel(
            "Webhooks",
            [
                .columns([
                    .text("\(state.endpoints.values.reduce(0) { $0 + $1.delivered }) delivered", .heading),
                    state.isPaused
                        ? .button("resume all", send: .resume(endpoint: nil)) : .button("pause all", send: .pause(endpoint: nil)),
                ]),
                .table(
                    [
                        "endpoint", PanelColumn("delivered", .right), PanelColumn("waiting", .right), "", PanelColumn("dead"), "",
                        "",
                    ], rows: rows),
            ])
    }
}
