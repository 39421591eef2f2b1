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

    public var kind: FrameKind { heading.kind }

    /// What the header says of it.
    private var heading: (kind: FrameKind, number: Int) {
        switch self {
        case .hello(let hello): (.hello, hello.epoch)
        case .welcome(let welcome): (.welcome, welcome.start)
        case .error: (.error, 0)
        case .ping(let number): (.ping, number)
        case .pong(let number): (.pong, number)
        case .goodbye: (.goodbye, 0)
        case .drain: (.drain, 0)
        case .send(_, let confirmed): (.send, confirmed)
        case .receipt(_, let credit): (.receipt, credit)
        case .settle(let turn): (.settle, turn)
        case .settled(let turn, _): (.settled, turn)
        case .waiting(let turn, _): (.waiting, turn)
        case .viewRequest(_, let turn): (.viewRequest, turn)
        case .view(_, let turn, _): (.view, turn)
        case .tick(_, let head, _, _): (.tick, head)
        case .outputsRequest(_, _, let waits): (.outputsRequest, waits ? 0 : 1)
        case .outputs: (.outputs, 0)
        case .viewsRequest(_, let turn): (.viewsRequest, turn)
        case .views(let page): (.views, page.after)
        case .credit(let number): (.credit, number)
        case .task(_, let number): (.task, number)
        case .result(_, let credit): (.result, credit)
        case .acknowledge: (.acknowledge, 0)
        case .cancel(_, let number): (.cancel, number)
        case .streamed: (.streamed, 0)
        case .progress: (.progress, 0)
        case .request: (.request, 0)
        case .reply: (.reply, 0)
        }
    }

    /// The header under which a sender of this timeline sends it.
    func header(in timeline: Timeline) -> FrameHeader {
        let (kind, number) = heading
        var header = FrameHeader(kind, timeline: timeline, number: number)
        switch self {
        case .hello(let hello): (header.takesProofs, header.endsSession) = (hello.takesProofs, hello.mayHaveEnded)
        case .send(let submissions, _): header.endsSession = submissions.last?.endsSession ?? false
        default: break
        }
        return header
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
        case .frame(let frame): parts(frame.header(in: timeline), frame.body(with: proof))
        case .written(let kind, let number, let body): parts(FrameHeader(kind, timeline: timeline, number: number), body)
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
