public import Logging
import MessagePack
public import SamovarCore
import SamovarWire
public import ServiceLifecycle

/// A client of a running program, with its types.
///
/// ```swift
/// let connector = try Connector(Counter.self, at: .of(dataFolder: ".samovar/counter"), logger: logger)
/// async let running: Void = connector.run()
/// let receipt = await connector.send(.incrementAsync, wait: .settled)
/// for await view in connector.views { print(view.state.async) }
/// ```
///
/// May be used from any task; `run` must be running, and waits for a store that is away. What was sent is applied once or not
/// at all, however often connection or store break meanwhile.
public final class Connector<P: Program>: Service {
    /// What a `send` waits for.
    public enum Wait: Sendable {
        /// The turn is on disk.
        case applied
        /// No effect that it caused, directly or through others, is open.
        case settled
    }

    /// A view, and the turn it shows.
    public struct View: Sendable, Equatable {
        /// The turn that it shows.
        public let turn: Int
        /// What outsiders see of the state after it.
        public let state: P.ViewState

        init(turn: Int, bytes: [UInt8], _ codec: ValueCodec<P.ViewState>) throws {
            self.turn = turn
            state = try codec.decode(bytes)
        }
    }

    let client: StoreClient
    private let inputs = ValueCodec<P.Input>(MessagePackEncoder(), MessagePackDecoder())
    private let viewStates = ValueCodec<P.ViewState>(MessagePackEncoder(), MessagePackDecoder())

    /// A connector to this store. Nothing is sent before `run`.
    ///
    /// - Throws: `PeerError` for the key of an instance that no store takes; what libzmq says if no socket can be made.
    public init(_ program: P.Type = P.self, at store: StoreAccess, instance: Instance = .main, logger: Logger) throws {
        client = try StoreClient(at: store, schema: P.schema, instance: instance, logger: logger)
    }

    /// Runs the connection until `close`, cancellation or a graceful shutdown. It waits for a store that is away. A connector that has
    /// ended stays so, and another `run` ends as this one did. In a handler of a worker, or in what it shares with others as their
    /// environment, it goes on while that shuts down, as the handlers do: an environment closes it in its `tearDown`.
    ///
    /// - Throws: `PeerError` if the store refuses this client, as one of another schema, or if it runs already, which goes on then.
    public func run() async throws {
        try await client.run()
    }

    /// Ends the session and `run`.
    public func close() {
        client.close()
    }

    /// Sends an input and waits for its outcome, as long as it takes. Cancellation does not take it back, and ends a wait for its
    /// effects; only before the connector runs is it rejected then.
    ///
    /// ```swift
    /// switch await connector.send(.add(url: url), wait: .settled) {
    /// case .applied(let turn, _): print("turn", turn)
    /// case .refused(let refusal, _): print("no:", refusal)
    /// case .unsettled(let turn, let reason): print("turn", turn, "and then", reason)
    /// case .rejected(let reason), .unknown(let reason): print(reason)
    /// }
    /// ```
    ///
    /// Inputs of one connector are applied in the order in which they were sent. An input that is on its way when the process is killed
    /// is applied once or not at all, and nobody is left to be told; a `StoreClient` with an outbox keeps it.
    ///
    /// Rejected at once is what cannot be encoded or has more than 1 MiB, what comes while 16,384 inputs or 16 MiB of this
    /// connector are unanswered, and what comes after its end.
    @discardableResult
    public func send(_ input: P.Input, wait: Wait = .applied) async -> Receipt<P> {
        let bytes: [UInt8]
        do {
            bytes = try inputs.encode(input)
        } catch {
            return .rejected("the input cannot be encoded: \(error)")
        }
        switch await client.send(bytes) {
        case .rejected(let reason): return .rejected(reason)
        case .unknown(let reason): return .unknown(reason: reason)
        case .answered(let outcome):
            switch outcome.verdict {
            case .rejected(let reason): return .rejected(reason)
            case .refused(let refusal): return Self.refused(refusal, turn: outcome.turn)
            case .applied: break
            }
            guard case .settled = wait else { return .applied(turn: outcome.turn, dead: []) }
            switch await client.settle(outcome) {
            case .settled(let dead): return .applied(turn: outcome.turn, dead: dead)
            case .unknown(let reason): return .unsettled(turn: outcome.turn, reason: reason)
            }
        }
    }

    private static func refused(_ bytes: [UInt8], turn: Int) -> Receipt<P> {
        do {
            return .refused(try MessagePackDecoder().decode(P.Refusal.self, from: bytes), turn: turn)
        } catch {
            return .rejected("refused, with a reason that this build cannot read: \(error)")
        }
    }

    /// The current view and those that follow; newest wins, so a slow reader misses some. One that this build cannot read is left
    /// out, and the connector's log says so; `views(.latest)` throws there.
    public var views: Views<P> { Views(events: client.views(), logger: client.logger) }

    /// A view of at least this turn, so that a client sees its own writes, or any if that is 0; nil if the client ends before, or
    /// this task is cancelled. While there is none, as when the program's views are off, the connector's log says why.
    ///
    /// - Throws: `OtherTimeline` if the store gets another timeline while the turn is waited for, as with a restored backup. A turn
    ///   of an earlier timeline that is asked for later is taken for one of the store's, since a number does not tell. What
    ///   decoding the view throws.
    public func view(atLeast turn: Int = 0) async throws -> View? {
        guard let view = try await client.view(atLeast: turn) else { return nil }
        return try View(turn: view.turn, bytes: view.bytes, viewStates)
    }
}

/// What became of an input.
public enum Receipt<P: Program>: Equatable, Sendable {
    /// Its turn is on disk. After a wait for `settled`, effects that are dead or were cancelled are listed.
    case applied(turn: Int, dead: [String])
    /// Its turn is on disk, but nobody can tell whether its effects have ended, which the wait for `settled` was for. Who sends the input
    /// again sends another one.
    case unsettled(turn: Int, reason: String)
    /// The program turned it away.
    case refused(P.Refusal, turn: Int)
    /// It was not taken, and will never be: in words. It is no input of this program, a gate held it back, it is too large,
    /// too many are unanswered, or the client has ended.
    case rejected(String)
    /// Nobody can tell whether it was applied.
    case unknown(reason: String)
}

/// The views of a program, newest first to come, until the client ends.
///
/// A view that this build cannot read is left out, and the first of several in a row is an error in the connector's log: the store
/// and this process were built from different sources under one schema version. Who wants it thrown reads `views(.latest)`.
public struct Views<P: Program>: AsyncSequence, Sendable {
    /// A view and its turn.
    public typealias Element = Connector<P>.View
    /// It throws nothing.
    public typealias Failure = Never

    let events: AsyncStream<StoreClient.ViewEvent>
    let logger: Logger

    /// Waits for the next view; never for one that it has missed.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var views: ViewFeed<P>.AsyncIterator
        let logger: Logger
        private var lastWasUnreadable = false

        fileprivate init(_ views: Views) {
            self.views = ViewFeed<P>.AsyncIterator(.latest(views.events.makeAsyncIterator()))
            logger = views.logger
        }

        /// The newest view that was not seen yet and can be read; nil at the end.
        public mutating func next() async -> Element? {
            while true {
                do {
                    let view = try await views.next()
                    lastWasUnreadable = false
                    return view
                } catch {
                    if !lastWasUnreadable { logger.error("views are left out, for this build cannot read them: \(error)") }
                    lastWasUnreadable = true
                }
            }
        }
    }

    /// The views of this sequence; iterate over it once.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
