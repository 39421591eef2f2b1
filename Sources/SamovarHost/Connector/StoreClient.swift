public import Logging
public import SamovarCore
public import SamovarPeers
public import SamovarWire
public import ServiceLifecycle
import Synchronization
import ZeroMQ

/// A client of a running store that does not know the program's types: inputs and views are MessagePack. `Connector` is this
/// with types; generic tools use it as it is.
///
/// `run` must be running for the other calls to get answers. It waits for a store that is away. Who is cancelled before it runs is
/// answered at once, and what that would have sent or asked is not.
public final class StoreClient: Service {
    /// What became of an input.
    public enum Result: Sendable, Equatable {
        /// The store has answered; the outcome says what.
        case answered(Outcome)
        /// Not taken, and never applied: too much is unanswered or unseen, it is too large, or the client has ended before.
        case rejected(String)
        /// Nobody can tell any more; of an input that is kept in an outbox, which the words say, nobody before the next process.
        case unknown(String)
    }

    /// A view and where it stands.
    public struct View: Sendable, Equatable {
        /// Of the journal that it comes from.
        public let timeline: Timeline
        /// The turn that it shows.
        public let turn: Int
        /// The view in MessagePack.
        public let bytes: [UInt8]

        /// A view as it came.
        public init(timeline: Timeline, turn: Int, bytes: [UInt8]) {
            self.timeline = timeline
            self.turn = turn
            self.bytes = bytes
        }
    }

    /// What is heard of the views of a store.
    public enum ViewEvent: Sendable, Equatable {
        /// A newer view.
        case view(View)
        /// Nothing was heard for a while; the last view may be old.
        case stale
        /// The last view is the newest there is.
        case live
        /// A newer view than the shown one exists, and was asked for.
        case resyncing
        /// The store has nothing left to do, and this is its view; turn 0 if it makes none.
        case idle(turn: Int)
    }

    /// The end of all effects of a turn.
    public enum Settlement: Sendable, Equatable {
        /// All are closed; these are dead or were cancelled.
        case settled(dead: [String])
        /// Nobody can tell any more.
        case unknown(String)
    }

    /// What follows a place in something that goes on.
    public enum PageResult: Sendable {
        /// What there is, and the timeline that it is of.
        case page(Page, Timeline)
        /// The place means nothing in the store's journal: it is of another timeline.
        case otherTimeline(Timeline)
        /// There will be none: in words.
        case none(String)
    }

    typealias ViewAnswer = Swift.Result<View?, OtherTimeline>

    /// What somebody wants of the client's loop. A request has a number, by which it is forgotten when its task is cancelled, and
    /// so has a reader of views, for when it leaves.
    enum Command: Sendable {
        case send(UInt64, [UInt8], Instance, isSeenAtOnce: Bool, endsSession: Bool = false, @Sendable (Result) -> Void)
        case seen(Int)
        /// With the number of an input, its turn is meant, which is one of the timeline in which the input was sent.
        case settle(UInt64, Int, sequence: Int?, onWaiting: @Sendable (String) -> Void, CheckedContinuation<Settlement, Never>)
        case view(UInt64, atLeast: Int, onWaiting: (@Sendable (String) -> Void)?, CheckedContinuation<ViewAnswer, Never>)
        case watch(UInt64, AsyncStream<ViewEvent>.Continuation)
        case page(UInt64, PageRequest, CheckedContinuation<PageResult, Never>)
        case forget(UInt64)
        case close

        /// Of a request that somebody waits for.
        var request: UInt64? {
            switch self {
            case .send(let id, _, _, _, _, _), .settle(let id, _, _, _, _), .view(let id, _, _, _), .page(let id, _, _): id
            case .seen, .watch, .forget, .close: nil
            }
        }

        /// Answers that nobody will answer.
        func abandon(because reason: String = "the client has ended") {
            switch self {
            // No machine has taken it, so it was never sent.
            case .send(_, _, _, _, _, let complete): complete(.rejected("it was not sent, for \(reason)"))
            case .settle(_, _, _, _, let continuation): continuation.resume(returning: .unknown(reason))
            case .view(_, _, _, let continuation): continuation.resume(returning: .success(nil))
            case .watch(_, let continuation): continuation.finish()
            case .page(_, _, let continuation): continuation.resume(returning: .none(reason))
            case .seen, .forget, .close: break
            }
        }
    }

    private func post(_ command: Command) {
        if !mailbox.post(command) { command.abandon() }
    }

    /// Hands over an input, unless as many wait for the loop as its machine could ever keep: the loop may wait for the outbox's disk, and who
    /// submits waits for nobody.
    private func post(
        _ id: UInt64, _ input: [UInt8], isSeenAtOnce: Bool, endsSession: Bool = false,
        _ complete: @escaping @Sendable (Result) -> Void
    ) {
        let limits = ClientMachine.Settings.standard
        let hasRoom = untaken.withLock { untaken in
            let bytes = untaken.bytes + input.count
            guard untaken.inputs == 0 || untaken.inputs < limits.backlog && bytes <= limits.backlogBytes else { return false }
            untaken = (untaken.inputs + 1, bytes)
            return true
        }
        guard hasRoom else { return complete(.rejected("\(ClientMachine.SubmitError.backlogFull)")) }
        let command = Command.send(id, input, instance, isSeenAtOnce: isSeenAtOnce, endsSession: endsSession, complete)
        if mailbox.post(command) { return }
        taken(input)
        command.abandon()
    }

    /// The loop has taken an input.
    func taken(_ input: [UInt8]) {
        untaken.withLock { $0 = ($0.inputs - 1, $0.bytes - input.count) }
    }

    package let store: StoreAccess
    let schema: Schema?
    let instance: Instance
    let logger: Logger
    let mailbox: Mailbox<Command>
    /// Inputs in the mailbox, and their bytes.
    private let untaken = Mutex((inputs: 0, bytes: 0))
    let outbox: String?
    /// What became of the inputs that the outbox held when it was opened, in order; then it ends. Read it, and call ``seen(_:)`` for each:
    /// the store keeps outcomes until they are seen, and takes no more inputs than a window beyond the oldest of them.
    public let restored: AsyncStream<Result>
    let restoredContinuation: AsyncStream<Result>.Continuation
    private struct Told {
        var obstacle: String?
        var difficulty: String?
        var isAwaited = false
        var hasBeenWelcome = false
        /// The last answer of the store: that this client is welcome, or why it is not if nobody was told so.
        var answer: Answer?
        /// Those who wait for the first one.
        var waiting: [UInt64: AsyncStream<Answer>.Continuation] = [:]
        var hasBegun = false
        /// How the client has ended.
        var end: Swift.Result<Void, any Error>?
    }
    private typealias Answer = Swift.Result<Timeline, PeerError>
    private let told = Mutex(Told())
    private let requestCount = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - schema: what the caller's types are; nil to take the store as it is.
    ///   - outbox: a file in which inputs are kept until their outcome is seen, so that a process that is killed loses none; one
    ///     process at a time. Nil for a client whose session ends with it.
    /// - Throws: `PeerError` for the key of an instance that no store takes; what libzmq says if no socket can be made.
    public init(
        at store: StoreAccess, schema: Schema? = nil, instance: Instance = .main, outbox: String? = nil, logger: Logger
    ) throws {
        if let objection = instance.objection { throw PeerError(.misuse, objection) }
        self.outbox = outbox
        (restored, restoredContinuation) = AsyncStream.makeStream()
        self.store = store
        self.schema = schema
        self.instance = instance
        self.logger = logger
        mailbox = try Mailbox()
    }

    /// Runs the connection until graceful shutdown, cancellation, or `close`.
    ///
    /// A client that has ended stays so: another `run` returns, or throws, what this one did. Who wants to try again makes another client.
    ///
    /// - Throws: `PeerError` if the store refuses this client, or if it runs already, which goes on then; `OutboxError`.
    public func run() async throws {
        if let end = begin() { return try end.get() }
        try await HandlerTask.untilShutdown {
            do {
                try await onThread("samovar-client") { [self] in
                    var loop = try ClientLoop(self)
                    try loop.run()
                }
            } catch {
                end(.failure(error))
                throw error
            }
            end(.success(()))
        } onShutdown: {
            self.close()
        }
    }

    /// What another `run` than the first one comes to.
    private func begin() -> Swift.Result<Void, any Error>? {
        told.withLock { told in
            defer { told.hasBegun = true }
            return told.end ?? (told.hasBegun ? .failure(PeerError(.misuse, "this client runs already")) : nil)
        }
    }

    private var hasBegun: Bool { told.withLock { $0.hasBegun } }

    /// Nobody waits for a client that has ended, or could not begin.
    private func end(_ end: Swift.Result<Void, any Error>) {
        told.withLock { told in
            told.end = end
            for waiter in told.waiting.values { waiter.finish() }
        }
        for command in mailbox.close() { command.abandon() }
        untaken.withLock { $0 = (0, 0) }
        restoredContinuation.finish()
    }

    /// Why the store takes nothing at present, in its words, such as a full disk; nil if it takes all.
    public var obstacle: String? { told.withLock { $0.obstacle } }

    /// Why no store could be reached the last time; nil if nothing is known but that none answered.
    public var difficulty: String? { told.withLock { $0.difficulty } }

    func tell(obstacle: String?) { told.withLock { $0.obstacle = obstacle } }
    func tell(difficulty: String?) { told.withLock { $0.difficulty = difficulty } }

    /// Whether the store welcomes this client.
    func tell(answer: Swift.Result<Timeline, PeerError>) {
        told.withLock { told in
            told.answer = answer
            if case .success = answer { told.hasBeenWelcome = true }
            for waiter in told.waiting.values { waiter.yield(answer) }
        }
    }

    /// A store has let this client in, whatever it said later.
    package var hasBeenWelcome: Bool { told.withLock(\.hasBeenWelcome) }

    /// Somebody waits for the connection, or is about to.
    var isAwaited: Bool { told.withLock(\.isAwaited) }

    /// `waitUntilConnected` will be called, and tells why there is no connection; so the log need not.
    package func willWait() { told.withLock { $0.isAwaited = true } }

    /// Ends the session and `run`.
    public func close() {
        post(.close)
    }

    /// Waits until the store has answered for the first time.
    ///
    /// - Throws: `PeerError` if the store refuses this client; for its key (`keyRefused`) it goes on trying all the same. What
    ///   has ended the client, if that was before. `CancellationError` if this task is cancelled before.
    public func waitUntilConnected() async throws {
        let id = nextRequest()
        // Each has a stream of its own: a cancelled task ends the one that it waits for.
        let (answers, continuation) = AsyncStream<Answer>.makeStream(bufferingPolicy: .bufferingNewest(1))
        defer { told.withLock { ($0.isAwaited, $0.waiting[id]) = (false, nil) } }
        told.withLock { told in
            told.waiting[id] = continuation
            if let answer = told.answer { continuation.yield(answer) }
            if told.end != nil { continuation.finish() }
        }
        for await answer in answers {
            guard case .failure(let error) = answer else { return }
            // Who waits again does so for what comes after it.
            told.withLock { told in
                if case .failure? = told.answer { told.answer = nil }
            }
            throw error
        }
        try Task.checkCancellation()
        // Before the store has answered, or after a refusal that somebody else has heard.
        if case .failure(let error)? = told.withLock({ $0.end }) { throw error }
        throw PeerError(.misuse, "this client has ended")
    }

    /// Sends an input and waits until its turn is on disk. With an outbox, the outcome counts as seen when this returns: the next process is
    /// not told it again, even if this one is killed at once. Who has to deal with each outcome uses `submit` and `seen`.
    ///
    /// Cancellation does not take the input back, unless the client does not run yet: then it is rejected.
    public func send(_ input: [UInt8]) async -> Result {
        let id = nextRequest()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                post(id, input, isSeenAtOnce: true) { continuation.resume(returning: $0) }
                // A cancellation before it was posted found nothing to take back.
                if Task.isCancelled, !hasBegun { takeBack(id) }
            }
        } onCancel: {
            if !hasBegun { takeBack(id) }
        }
    }

    /// Hands over an input, behind those that were handed over before, and does not wait. With an outbox, its outcome is told
    /// again by the next process until `seen` was called, and no more inputs than a window are sent beyond one that was not.
    ///
    /// - Parameter endsSession: no input follows, unless this one is refused: the journal has the end of the session in the same record.
    ///   Without it, or with an outbox, `close` ends the session by a record of its own.
    public func submit(_ input: [UInt8], endsSession: Bool = false) -> Submitted {
        let (stream, continuation) = AsyncStream<Result>.makeStream()
        post(nextRequest(), input, isSeenAtOnce: false, endsSession: endsSession) {
            continuation.yield($0)
            continuation.finish()
        }
        return Submitted(stream: stream)
    }

    /// An input that is under way.
    public struct Submitted: Sendable {
        fileprivate let stream: AsyncStream<Result>

        /// What became of it. To be asked for once.
        public func result() async -> Result {
            for await result in stream { return result }
            return .unknown("the wait was cancelled")
        }
    }

    /// The outcome of an input need not be told again: a person has read it, say. Only with an outbox is there anything to do.
    public func seen(_ sequence: Int) {
        post(.seen(sequence))
    }

    /// Waits until no effect whose root is this turn is open, or this task is cancelled. A turn that the store does not have ends the
    /// client, as misuse; who waits for the turn of an input passes its outcome.
    ///
    /// - Parameter onWaiting: called about once a second, on the client's thread, with what is waited for.
    public func settle(_ turn: Int, onWaiting: @escaping @Sendable (String) -> Void = { _ in }) async -> Settlement {
        await request { .settle($0, turn, sequence: nil, onWaiting: onWaiting, $1) }
    }

    /// Waits until no effect is open whose root is the turn of this outcome. That is unknown once the store has another timeline,
    /// where a turn of the same number is another one, or is not there.
    ///
    /// - Parameters:
    ///   - outcome: of an input of this client.
    ///   - onWaiting: called about once a second, on the client's thread, with what is waited for.
    public func settle(_ outcome: Outcome, onWaiting: @escaping @Sendable (String) -> Void = { _ in }) async -> Settlement {
        await request { .settle($0, outcome.turn, sequence: outcome.sequence, onWaiting: onWaiting, $1) }
    }

    /// A view of at least this turn, or any if that is 0; nil if the client ends before, or this task is cancelled.
    ///
    /// - Parameter onWaiting: called, on the client's thread, with why there is no view at present; nil to have it in the log.
    /// - Throws: `OtherTimeline` if the store gets another timeline while the turn is waited for. A turn of an earlier timeline
    ///   that is asked for later is taken for one of the store's, since a number does not tell.
    public func view(
        atLeast turn: Int = 0, onWaiting: (@Sendable (String) -> Void)? = nil
    ) async throws(OtherTimeline) -> View? {
        let answer: ViewAnswer = await request { .view($0, atLeast: turn, onWaiting: onWaiting, $1) }
        return try answer.get()
    }

    /// Waits for a page of outputs or views, until there is something in it or this task is cancelled.
    public func page(_ request: PageRequest) async -> PageResult {
        await self.request { .page($0, request, $1) }
    }

    /// Posts a request, and forgets it if this task is cancelled.
    private func request<Answer: Sendable>(
        _ command: (UInt64, CheckedContinuation<Answer, Never>) -> Command
    ) async -> Answer {
        let id = nextRequest()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                post(command(id, continuation))
                // A cancellation before the request was posted found nothing to forget.
                if Task.isCancelled { forget(id) }
            }
        } onCancel: {
            forget(id)
        }
    }

    /// The task that waits for this request is cancelled.
    private func forget(_ id: UInt64) {
        // Before `run` nobody has taken it: it is not posted yet, or was answered.
        if !takeBack(id), hasBegun { post(.forget(id)) }
    }

    /// Answers a request of a cancelled task that the loop has not taken; false if there is none.
    @discardableResult
    private func takeBack(_ id: UInt64) -> Bool {
        guard let command = mailbox.takeBack(where: { $0.request == id }) else { return false }
        if case .send(_, let input, _, _, _, _) = command { taken(input) }
        command.abandon(because: "the task was cancelled")
        return true
    }

    private func nextRequest() -> UInt64 { requestCount.wrappingAdd(1, ordering: .relaxed).newValue }

    /// The current view and those that follow. A slow reader misses views, never the newest.
    public func views() -> AsyncStream<ViewEvent> {
        let (stream, continuation) = AsyncStream<ViewEvent>.makeStream(bufferingPolicy: .bufferingNewest(Self.unreadEvents))
        let id = nextRequest()
        // The reader has dropped its stream, or its task is cancelled; an end that the loop has made is no news to it. Weak, or a
        // command that nobody takes would keep the client.
        continuation.onTermination = { [weak self] end in
            if case .cancelled = end { self?.post(.forget(id)) }
        }
        post(.watch(id, continuation))
        return stream
    }

    /// As many events wait for a slow reader.
    fileprivate static let unreadEvents = 8
}

extension AsyncStream.Continuation where Element == StoreClient.ViewEvent {
    /// Tells a reader. What it has not read gives way to what is newer. But a store at rest gives a sign of life each second, and
    /// these must not push out the newest view: it is left in that case, with nothing but this event behind it.
    ///
    /// - Parameter newest: the view that was told last.
    func tell(_ event: StoreClient.ViewEvent, newest: StoreClient.View?) {
        guard case .dropped(.view(let view)) = yield(event), view == newest else { return }
        yield(.view(view))
        // Once in each of the other places, or an older event would be read before the view.
        for _ in 1..<StoreClient.unreadEvents { yield(event) }
    }
}
