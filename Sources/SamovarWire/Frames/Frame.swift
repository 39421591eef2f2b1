public import SamovarCore
import MessagePack

/// One message between two processes, without its route.
///
/// `number` of the header carries what nearly every frame of a kind needs, so that control frames have no body at all. What is large
/// and rare is indirect: an action of a machine stays so small that it is moved without a call.
public enum Frame: Equatable, Sendable {
    /// The first frame of a connection, from a client or a worker.
    indirect case hello(Hello)
    /// The store's answer to a HELLO that it accepts.
    indirect case welcome(Welcome)
    /// The store refuses; what follows depends on the code.
    case error(PeerError)
    /// Sent when nothing else was, once a second. From a client the number of outcomes it has confirmed, from a worker its credit.
    case ping(Int)
    /// The answer to PING: to a client its credit, to a worker the number of the last task that it was sent since its HELLO.
    case pong(Int)
    /// The sender leaves for good: a session ends, a worker has given everything back, a store closes.
    case goodbye
    /// The sender is about to stop. The store: its peers should finish. A worker: it takes no more tasks, whatever its credit.
    case drain

    /// Inputs of a client, and the number up to which it has confirmed outcomes.
    case send([Submission], confirmed: Int)
    /// Outcomes of inputs, and the number up to which the client may send.
    case receipt([Outcome], credit: Int)
    /// Asks to be told when no effect whose root is this turn is open.
    case settle(turn: Int)
    /// No effect of this root is open; those that are dead are listed.
    case settled(turn: Int, dead: [String])
    /// What a settle request still waits for, once a second.
    case waiting(turn: Int, on: String)
    /// Asks for a view of at least this turn.
    case viewRequest(instance: Instance, atLeast: Int)
    case view(instance: Instance, turn: Int, bytes: [UInt8])
    /// Each second: the durable head and the turn of the newest published view.
    case tick(instance: Instance, head: Int, view: Int, idle: Bool)

    /// Asks for the outputs after this one: when there are any, or at once.
    case outputsRequest(instance: Instance, after: EffectID, waits: Bool)
    indirect case outputs(OutputPage)
    /// Asks for the views of all turns after this one, when there are any.
    case viewsRequest(instance: Instance, after: Int)
    case views(ViewPage)

    /// A worker may be sent tasks up to this number, counted from its HELLO.
    case credit(Int)
    /// Jobs for a worker; the number of the last, counted from its HELLO.
    case task([JobTask], number: Int)
    /// Answers of jobs, and the worker's credit.
    case result(JobResults, credit: Int)
    /// The worker may forget these answers.
    case acknowledge([Lease])
    /// The worker shall stop these jobs; their answers are no longer wanted. The number counts the CANCELs with jobs since its HELLO, this
    /// one included; 0 is from a store that does not count. One without jobs tells the number alone.
    case cancel([Lease], number: Int)
    /// The worker may forget these messages that its jobs have streamed.
    case streamed([StreamMark])
    /// What running jobs tell of themselves.
    case progress([ProgressReport])

    case request(AdminRequest)
    case reply(AdminReply)

    public var kind: FrameKind {
        switch self {
        case .hello: .hello
        case .welcome: .welcome
        case .error: .error
        case .ping: .ping
        case .pong: .pong
        case .goodbye: .goodbye
        case .drain: .drain
        case .send: .send
        case .receipt: .receipt
        case .settle: .settle
        case .settled: .settled
        case .waiting: .waiting
        case .viewRequest: .viewRequest
        case .view: .view
        case .tick: .tick
        case .outputsRequest: .outputsRequest
        case .outputs: .outputs
        case .viewsRequest: .viewsRequest
        case .views: .views
        case .credit: .credit
        case .task: .task
        case .result: .result
        case .acknowledge: .acknowledge
        case .cancel: .cancel
        case .streamed: .streamed
        case .progress: .progress
        case .request: .request
        case .reply: .reply
        }
    }

    package var takesProofs: Bool {
        if case .hello(let hello) = self { hello.takesProofs } else { false }
    }

    package var endsSession: Bool {
        switch self {
        case .hello(let hello): hello.mayHaveEnded
        case .send(let submissions, _): submissions.last?.endsSession ?? false
        default: false
        }
    }

    /// The header's number.
    package var number: Int {
        switch self {
        case .ping(let number), .pong(let number), .credit(let number): number
        case .send(_, let confirmed): confirmed
        case .receipt(_, let credit), .result(_, let credit): credit
        case .settle(let turn), .settled(let turn, _), .waiting(let turn, _): turn
        case .viewRequest(_, let turn), .view(_, let turn, _): turn
        case .tick(_, let head, _, _): head
        case .outputsRequest(_, _, let waits): waits ? 0 : 1
        case .viewsRequest(_, let turn): turn
        case .views(let page): page.after
        case .task(_, let number), .cancel(_, let number): number
        case .hello(let hello): hello.epoch
        case .welcome(let welcome): welcome.start
        case .error, .goodbye, .drain, .outputs, .acknowledge, .streamed, .progress, .request, .reply: 0
        }
    }
}

/// A frame with the timeline that its sender lives in, and the proof of a turn that may come with it.
public struct Envelope: Equatable, Sendable {
    private enum Content: Sendable {
        case frame(Frame)
        /// Written already, by who will never look into it.
        case written(FrameKind, number: Int, body: [UInt8])
    }

    public let timeline: Timeline
    /// The newest turn that it tells of, for a peer that takes proofs.
    public let proof: TurnProof?
    private let content: Content

    /// - Parameter proof: of a WELCOME, RECEIPT, ACKNOWLEDGE or PONG.
    public init(_ frame: Frame, timeline: Timeline, proof: TurnProof? = nil) {
        content = .frame(frame)
        self.timeline = timeline
        self.proof = proof
    }

    /// - Parameter body: well-formed.
    package init(written kind: FrameKind, number: Int, body: [UInt8], timeline: Timeline) {
        content = .written(kind, number: number, body: body)
        self.timeline = timeline
        proof = nil
    }

    /// One that was written already is read for this.
    public var frame: Frame {
        switch content {
        case .frame(let frame): return frame
        case .written(let kind, let number, let body):
            do {
                return try Frame(FrameHeader(kind, timeline: timeline, number: number), body: body)
            } catch {
                preconditionFailure("a \(kind) was written that cannot be read: \(error)")
            }
        }
    }

    /// What its frame is for; one that was written already need not be read for this.
    public var kind: FrameKind {
        switch content {
        case .frame(let frame): frame.kind
        case .written(let kind, _, _): kind
        }
    }

    public static func == (a: Envelope, b: Envelope) -> Bool {
        a.timeline == b.timeline && a.proof == b.proof && a.frame == b.frame
    }

    /// The header and, unless it would be empty, the body.
    public var parts: [[UInt8]] {
        switch content {
        case .frame(let frame):
            let header = FrameHeader(
                frame.kind, takesProofs: frame.takesProofs, endsSession: frame.endsSession, timeline: timeline,
                number: frame.number)
            return parts(header, frame.body(with: proof))
        case .written(let kind, let number, let body):
            return parts(FrameHeader(kind, timeline: timeline, number: number), body)
        }
    }

    private func parts(_ header: FrameHeader, _ body: [UInt8]) -> [[UInt8]] {
        body.isEmpty ? [header.bytes] : [header.bytes, body]
    }

    /// Reads a header and at most one body.
    ///
    /// - Throws: `WireError` for anything a peer may send that is not a well-formed frame; never traps.
    public init(parts: [[UInt8]]) throws(WireError) {
        guard parts.count == 1 || parts.count == 2 else {
            throw .malformed("\(parts.count) parts; a frame has a header and at most one body")
        }
        let header = try FrameHeader(parts[0])
        timeline = header.timeline
        do {
            var proof: TurnProof?
            content = .frame(try Frame(header, body: parts.count == 2 ? parts[1] : [], proof: &proof))
            self.proof = proof
        } catch let error as WireError {
            throw error
        } catch {
            throw .malformed("\(header.kind): \(error)")
        }
    }
}

/// The topic of an instance's views. It ends in a zero byte, so that no topic is the beginning of another.
public func viewTopic(of instance: Instance) -> [UInt8] {
    Array("view/\(instance.key)".utf8) + [0]
}
