package import MessagePack
package import SamovarCore

/// Bodies are MessagePack; a list is written as an array of entries, so a frame of one and a frame of a thousand look alike.
extension Frame {
    /// About the bytes of the body, where it may be long: so that it is not copied again and again while it grows.
    private var likelySize: Int {
        switch self {
        case .send(let submissions, _): submissions.reduce(8) { $0 + $1.input.count + 24 }
        case .receipt(let outcomes, _): outcomes.count * 16
        case .acknowledge(let leases), .cancel(let leases, _): leases.count * 8
        default: 0
        }
    }

    /// - Parameter proof: the last value, of a kind that may have one.
    package func body(with proof: TurnProof? = nil) -> [UInt8] {
        var writer = MessagePackWriter(reserving: likelySize + (proof == nil ? 0 : TurnProof.bytes))
        switch self {
        case .ping, .pong, .goodbye, .drain, .credit, .settle: break
        case .hello(let hello): hello.write(to: &writer)
        case .welcome(let welcome): welcome.write(to: &writer)
        case .error(let error): error.write(to: &writer)
        case .send(let submissions, _): writer.writeList(submissions) { $0.write(to: &$1) }
        case .receipt(let outcomes, _): writer.writeList(outcomes) { $0.write(to: &$1) }
        case .settled(_, let dead): writer.writeList(dead) { $1.write($0) }
        case .waiting(_, let reason): writer.write(reason)
        case .viewRequest(let instance, _): writer.write(instance)
        case .view(let instance, _, let bytes):
            writer.write(instance)
            writer.writeRaw(bytes)
        case .tick(let instance, _, let view, let idle):
            writer.write(instance)
            writer.write(view)
            writer.write(idle)
        case .outputsRequest(let instance, let after, _):
            writer.write(instance)
            writer.write(after)
        case .outputs(let page): page.write(to: &writer)
        case .viewsRequest(let instance, _): writer.write(instance)
        case .views(let page): page.write(to: &writer)
        case .task(let tasks, _): writer.writeList(tasks) { $0.write(to: &$1) }
        case .result(let results, _): results.write(to: &writer)
        case .acknowledge(let leases), .cancel(let leases, _): writer.writeList(leases) { $1.write($0) }
        case .streamed(let marks): writer.writeList(marks) { $0.write(to: &$1) }
        case .progress(let reports): writer.writeList(reports) { $0.write(to: &$1) }
        case .request(let request): request.write(to: &writer)
        case .reply(let reply): reply.write(to: &writer)
        }
        proof?.write(to: &writer)
        return writer.bytes
    }

    package init(_ header: FrameHeader, body: [UInt8]) throws {
        var proof: TurnProof?
        try self.init(header, body: body, proof: &proof)
    }

    /// - Parameter proof: what follows the values of the frame, if its kind may have one.
    package init(_ header: FrameHeader, body: [UInt8], proof: inout TurnProof?) throws {
        var reader = MessagePackReader(body)
        let number = header.number
        switch header.kind {
        case .hello: self = .hello(try Hello(header, from: &reader))
        case .welcome: self = .welcome(try Welcome(header, from: &reader))
        case .error: self = .error(try PeerError(from: &reader))
        case .ping: self = .ping(number)
        case .pong: self = .pong(number)
        case .goodbye: self = .goodbye
        case .drain: self = .drain
        case .send:
            var submissions = try reader.readList { try Submission(from: &$0) }
            if header.endsSession, let last = submissions.indices.last { submissions[last].endsSession = true }
            self = .send(submissions, confirmed: number)
        case .receipt: self = .receipt(try reader.readList { try Outcome(from: &$0) }, credit: number)
        case .settle: self = .settle(turn: number)
        case .settled: self = .settled(turn: number, dead: try reader.readList { try $0.readString() })
        case .waiting: self = .waiting(turn: number, on: try reader.readString())
        case .viewRequest: self = .viewRequest(instance: try reader.readInstance(), atLeast: number)
        case .view:
            let instance = try reader.readInstance()
            self = .view(instance: instance, turn: number, bytes: Array(try reader.readRaw()))
        case .tick:
            let instance = try reader.readInstance()
            self = .tick(instance: instance, head: number, view: try reader.readInt(), idle: try reader.readBool())
        case .outputsRequest:
            let instance = try reader.readInstance()
            self = .outputsRequest(instance: instance, after: try reader.readEffect(), waits: number != 1)
        case .outputs: self = .outputs(try OutputPage(from: &reader))
        case .viewsRequest: self = .viewsRequest(instance: try reader.readInstance(), after: number)
        case .views: self = .views(try ViewPage(after: number, from: &reader))
        case .credit: self = .credit(number)
        case .task: self = .task(try reader.readTasks(of: body), number: number)
        case .result: self = .result(try reader.readResults(of: body), credit: number)
        case .acknowledge: self = .acknowledge(try reader.readList { try $0.readLease() })
        case .cancel: self = .cancel(try reader.readList { try $0.readLease() }, number: number)
        case .streamed: self = .streamed(try reader.readList { try StreamMark(from: &$0) })
        case .progress: self = .progress(try reader.readList { try ProgressReport(from: &$0) })
        case .request: self = .request(try AdminRequest(from: &reader))
        case .reply: self = .reply(try AdminReply(from: &reader))
        }
        if !reader.isAtEnd, header.kind.mayHaveProof { proof = try TurnProof(from: &reader) }
        guard reader.isAtEnd else { throw WireError.malformed("\(header.kind) has bytes after its end") }
    }
}

extension MessagePackWriter {
    package mutating func writeList<Element>(_ list: [Element], _ write: (Element, inout MessagePackWriter) -> Void) {
        writeArrayHeader(list.count)
        for index in list.indices { write(list[index], &self) }
    }

    /// Nil for `main`, since nearly every entry is for it.
    package mutating func write(_ instance: Instance) {
        if instance == .main { writeNil() } else { write(instance.key) }
    }

    package mutating func write(_ id: UniqueID) {
        writeShort(1, bytes: 16) { $0.write(id) }
    }

    package mutating func write(_ effect: EffectID) {
        writeShort(2) { $0.write(effect) }
    }

    package mutating func write(_ lease: Lease) {
        writeShort(3) { $0.write(lease) }
    }

    package mutating func write(_ schema: Schema) {
        write(schema.name)
        write(schema.version)
    }
}

extension ShortWriter {
    /// One value, and 16 bytes.
    mutating func write(_ id: UniqueID) {
        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { writeBinary($0) }
    }

    /// Two values.
    mutating func write(_ effect: EffectID) {
        write(effect.turn)
        write(effect.ordinal)
    }

    /// Three values.
    mutating func write(_ lease: Lease) {
        writeArrayHeader(2)
        write(lease.start)
        write(lease.counter)
    }
}

extension ShortReader {
    package mutating func readEffect() -> EffectID {
        EffectID(turn: readInt(), ordinal: readInt())
    }

    mutating func readLease() -> Lease {
        readArrayHeader(of: 2)
        return Lease(start: readInt(), counter: readInt())
    }
}

extension Instance {
    /// Why no peer takes it; nil if all do.
    package var objection: String? { key.utf8.count > 128 ? "an instance key of \(key.utf8.count) bytes; 128 at most" : nil }
}

extension MessagePackReader {
    package mutating func readList<Element>(_ read: (inout MessagePackReader) throws -> Element) throws -> [Element] {
        let count = try readArrayHeader()
        var list: [Element] = []
        list.reserveCapacity(Swift.min(count, 4_096))
        for _ in 0..<count { list.append(try read(&self)) }
        return list
    }

    /// Reads the header of an entry of exactly `count` fields.
    package mutating func readFields(_ count: Int, of name: String) throws {
        let found = try readArrayHeader()
        guard found == count else { throw WireError.malformed("\(name) has \(count) fields, not \(found)") }
    }

    /// Begins a value that later builds have given another field.
    ///
    /// - Returns: whether it has that.
    package mutating func readFields(_ count: Int, orMore more: Int, of name: String) throws -> Bool {
        let fields = try readArrayHeader()
        guard fields == count || fields == more else {
            throw WireError.malformed("\(name) has \(count) or \(more) fields, not \(fields)")
        }
        return fields == more
    }

    package mutating func readInstance() throws -> Instance {
        if try readNil() { return .main }
        let key = try readString()
        let instance = Instance(key)
        if let objection = instance.objection { throw WireError.malformed(objection) }
        return instance
    }

    /// A duration in whole milliseconds that microseconds of 64 bits can hold, so that it is written as it was read.
    mutating func readMilliseconds() throws -> Duration {
        let number = try readInt64()
        guard (Int64.min / 1_000...Int64.max / 1_000).contains(number) else {
            throw WireError.malformed("\(number) ms are no duration")
        }
        return .milliseconds(number)
    }

    package mutating func readID() throws -> UniqueID {
        try readBinary { bytes in
            guard bytes.count == 16 else { throw WireError.malformed("an identity of \(bytes.count) bytes, not 16") }
            return UniqueID(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    package mutating func readEffect() throws -> EffectID {
        EffectID(turn: try readInt(), ordinal: try readInt())
    }

    mutating func readLease() throws -> Lease {
        try readFields(2, of: "a lease")
        return Lease(start: try readInt(), counter: try readInt())
    }

    mutating func readSchema() throws -> Schema {
        Schema(name: try readString(), version: try readInt())
    }
}
