package import MessagePack
public import SamovarCore

/// Who connects, and what it has seen.
public struct Hello: Equatable, Sendable {
    /// What a peer comes for. The role is decided by the socket today; the wire and the machines carry it from the start.
    public enum Role: Equatable, Sendable {
        case client(session: SessionID)
        case worker(WorkerOffer)
    }

    public var role: Role
    /// The program and version of the peer's types; nil for a generic tool, which sends what it was given.
    public var schema: Schema?
    /// The newest turn that the peer was told of, in the timeline of the header; with a proof, the newest that it can prove. A store
    /// whose journal ends before a proven one has lost its tail, and stops.
    public var witness: Int
    /// The store's own proof that it told of that turn; nil from a peer that was given none.
    public var proof: UInt64?
    /// The greatest start number that the peer was told of, in that timeline; 0 for none. A store of an earlier start has been replaced,
    /// and does not serve it.
    public var start: Int
    /// Whether the peer reads a ``TurnProof`` at the end of the frames that may have one; a flag of the header.
    public var takesProofs: Bool
    /// Which HELLO of this peer it is; the header's number, which rises with each. A HELLO that a newer one has overtaken, on another
    /// socket of the same peer, is known by it.
    public var epoch: Int
    /// Whether a client keeps its inputs over its own death, so that its session is worth keeping for long.
    public var isDurable: Bool
    /// Whether a client has sent an input that ends its session, so that it may be over by now; a flag of the header.
    public var mayHaveEnded: Bool

    public init(
        role: Role, schema: Schema?, witness: Int = 0, proof: UInt64? = nil, start: Int = 0, takesProofs: Bool = true,
        epoch: Int = 1, isDurable: Bool = false, mayHaveEnded: Bool = false
    ) {
        self.isDurable = isDurable
        self.mayHaveEnded = mayHaveEnded
        self.role = role
        self.schema = schema
        self.witness = witness
        self.proof = proof
        self.start = start
        self.takesProofs = takesProofs
        self.epoch = epoch
    }
}

/// What a worker can do and is doing.
public struct WorkerOffer: Equatable, Sendable {
    public var id: WorkerID
    /// Jobs that it runs at once.
    public var slots: Int
    /// The queues that it serves.
    public var queues: [Queue]
    /// How many jobs of a queue it holds at once; a queue without a limit may take all its slots.
    public var limits: [Queue: Int]
    /// Jobs that it holds from an earlier connection, answered or not.
    public var running: [JobClaim]
    /// What it can do, for effects that need it.
    public var capabilities: Set<String>

    /// The most slots, and the most jobs of a queue at once.
    public static let slotLimit = 65_536
    /// The most queues that a worker may serve, and the most bytes of the name of one.
    public static let queueLimit = 1_024
    /// The most capabilities.
    public static let capabilityLimit = 64
    /// The most bytes of one.
    public static let capabilityBytes = 128

    public init(
        id: WorkerID, slots: Int, queues: [Queue], limits: [Queue: Int] = [:], running: [JobClaim] = [],
        capabilities: Set<String> = []
    ) {
        self.capabilities = capabilities
        self.id = id
        self.slots = slots
        self.queues = queues
        self.limits = limits
        self.running = running
    }
}

/// A worker's word that it holds a job.
public struct JobClaim: Equatable, Sendable {
    public var effect: EffectID
    public var lease: Lease
    public var token: UInt64

    public init(effect: EffectID, lease: Lease, token: UInt64) {
        self.effect = effect
        self.lease = lease
        self.token = token
    }

    package init(_ task: borrowing JobTask) { self.init(effect: task.effect, lease: task.lease, token: task.token) }
}

/// The store's answer to HELLO.
public struct Welcome: Equatable, Sendable {
    public var schema: Schema
    /// The store's start number, which is the header's; 0 from one that does not say. Of two stores with one timeline, the one with the
    /// greater is the store.
    public var start: Int
    /// The number that the next input of the session must have.
    public var expected: Int
    /// The number up to which the client may send.
    public var credit: Int
    /// The newest turn on disk.
    public var head: Int
    /// Silence after which either side takes the other for dead.
    public var silence: Duration

    public init(schema: Schema, start: Int = 0, expected: Int = 1, credit: Int = 0, head: Int, silence: Duration) {
        self.schema = schema
        self.start = start
        self.expected = expected
        self.credit = credit
        self.head = head
        self.silence = silence
    }
}

/// A refusal by the store, with what the peer should do.
public struct PeerError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Code: Int, Sendable, CaseIterable {
        /// Another program, or another version of its types: come back with the right build.
        case schema = 1
        /// The peer broke the protocol: a fault of its build.
        case misuse = 2
        /// Say HELLO first.
        case unknownPeer = 3
        /// The session was closed or has expired: what is unanswered stays unknown.
        case sessionExpired = 4
        /// Not now: the store is full, busy or about to stop. Nothing of the frame was taken, or only its beginning.
        case retryLater = 5
        /// Send again from the number in `expected`.
        case resync = 6
        /// A newer process uses this identity.
        case superseded = 7
        /// The key of the peer is not for this: an act beyond its roles or its limits, or an identity that belongs to another key.
        case forbidden = 8
        /// The key of the peer is not, or no longer, valid.
        case keyRefused = 9
    }

    public var code: Code
    /// At most 1,000 characters.
    public var text: String
    /// For `resync`, the number expected next.
    public var expected: Int
    /// For `retryLater`, how long to wait.
    public var wait: Duration

    public init(_ code: Code, _ text: String, expected: Int = 0, wait: Duration = .zero) {
        self.code = code
        self.text = text.bounded()
        self.expected = expected
        self.wait = wait
    }

    public var description: String { text }
}

extension Hello {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(start == 0 ? 4 : 5)
        if let schema {
            writer.writeArrayHeader(2)
            writer.write(schema)
        } else {
            writer.writeNil()
        }
        if let proof { TurnProof(turn: witness, code: proof).write(to: &writer) } else { writer.write(witness) }
        switch role {
        case .client(let session):
            writer.write(isDurable ? "durable" : "client")
            writer.write(session)
        case .worker(let offer):
            writer.write("worker")
            offer.write(to: &writer)
        }
        if start != 0 { writer.write(start) }
    }

    package init(_ header: FrameHeader, from reader: inout MessagePackReader) throws {
        epoch = header.number
        takesProofs = header.takesProofs
        mayHaveEnded = header.endsSession
        let hasStart = try reader.readFields(4, orMore: 5, of: "HELLO")
        if try reader.readNil() {
            schema = nil
        } else {
            try reader.readFields(2, of: "a schema")
            schema = try reader.readSchema()
        }
        if try reader.peekType() == .array {
            let proven = try TurnProof(from: &reader)
            (witness, proof) = (proven.turn, proven.code)
        } else {
            witness = try reader.readInt()
            proof = nil
        }
        let name = try reader.readString()
        isDurable = name == "durable"
        switch name {
        case "client", "durable": role = .client(session: try reader.readID())
        case "worker": role = .worker(try WorkerOffer(from: &reader))
        default: throw WireError.malformed("unknown role \(name)")
        }
        start = hasStart ? try reader.readInt() : 0
    }
}

extension WorkerOffer {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(capabilities.isEmpty ? 4 : 5)
        writer.write(id)
        writer.write(slots)
        writer.writeList(queues) { queue, writer in
            guard let limit = limits[queue] else { return writer.write(queue.name) }
            writer.writeArrayHeader(2)
            writer.write(queue.name)
            writer.write(limit)
        }
        writer.writeList(running) { claim, writer in
            writer.writeArrayHeader(4)
            writer.write(claim.effect)
            writer.write(claim.lease)
            writer.write(claim.token)
        }
        guard !capabilities.isEmpty else { return }
        writer.writeList(capabilities.sorted()) { $1.write($0) }
    }

    package init(from reader: inout MessagePackReader) throws {
        let hasCapabilities = try reader.readFields(4, orMore: 5, of: "a worker's offer")
        id = try reader.readID()
        slots = try reader.readInt()
        let offered = try reader.readList { try $0.readOfferedQueue() }
        queues = offered.map(\.0)
        limits = [:]
        // Of more there is an objection.
        for (queue, limit) in offered.prefix(Self.queueLimit) { limits[queue] = limit }
        running = try reader.readList { reader in
            try reader.readFields(4, of: "a claim")
            return JobClaim(effect: try reader.readEffect(), lease: try reader.readLease(), token: try reader.readUInt64())
        }
        let listed = hasCapabilities ? try reader.readList { try $0.readString() } : []
        capabilities = Set(listed)
        guard listed.count <= Self.capabilityLimit else {
            throw WireError.malformed("\(listed.count) capabilities; \(Self.capabilityLimit) at most")
        }
        if let objection { throw WireError.malformed(objection) }
    }

    /// Why a store does not take it, in words; nil if it does.
    package var objection: String? {
        let most = Self.slotLimit
        if slots < 1 { return "\(slots) slots; 1 at least" }
        if slots > most { return "\(slots) slots; \(most) at most" }
        if queues.count > Self.queueLimit { return "\(queues.count) queues; \(Self.queueLimit) at most" }
        for queue in queues {
            let (bytes, limit) = (queue.name.utf8.count, limits[queue] ?? 1)
            if bytes > Self.queueLimit { return "the name of a queue has \(bytes) bytes; \(Self.queueLimit) at most" }
            guard (1...most).contains(limit) else { return "\(limit) jobs of queue \(queue) at once; 1 to \(most) are possible" }
        }
        if capabilities.count > Self.capabilityLimit {
            return "\(capabilities.count) capabilities; \(Self.capabilityLimit) at most"
        }
        return capabilities.map(\.utf8.count).first { $0 > Self.capabilityBytes }
            .map { "the name of a capability has \($0) bytes; \(Self.capabilityBytes) at most" }
    }
}

extension Welcome {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(6)
        writer.write(schema)
        writer.write(expected)
        writer.write(credit)
        writer.write(head)
        writer.write(silence.microseconds / 1_000)
    }

    package init(_ header: FrameHeader, from reader: inout MessagePackReader) throws {
        start = header.number
        try reader.readFields(6, of: "WELCOME")
        schema = try reader.readSchema()
        expected = try reader.readInt()
        credit = try reader.readInt()
        head = try reader.readInt()
        silence = try reader.readMilliseconds()
    }
}

extension PeerError {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(4)
        writer.write(code.rawValue)
        writer.write(text)
        writer.write(expected)
        writer.write(wait.microseconds / 1_000)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(4, of: "ERROR")
        let number = try reader.readInt()
        guard let code = Code(rawValue: number) else { throw WireError.malformed("unknown error code \(number)") }
        self.code = code
        text = try reader.readString().bounded()
        expected = try reader.readInt()
        wait = try reader.readMilliseconds()
    }
}

extension MessagePackReader {
    /// The name of a queue, or an array of the name and how many of its jobs a worker holds at once.
    fileprivate mutating func readOfferedQueue() throws -> (Queue, limit: Int?) {
        guard try peekType() == .array else { return (Queue(try readString()), nil) }
        try readFields(2, of: "a queue")
        return (Queue(try readString()), try readInt())
    }
}
