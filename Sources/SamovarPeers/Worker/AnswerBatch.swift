import MessagePack
import SamovarCore
import SamovarWire

/// Neighbouring answers of one worker, written as they stand in a frame.
///
/// An answer is written where its handler has ended, and is bytes from then on: to send it is to copy them with those beside it, and to
/// forget it is a step. Kept as values, each answer would cost allocations that one thread makes and another frees.
struct AnswerBatch {
    struct Entry {
        let claim: JobClaim
        /// The number of a streamed message; nil for an answer.
        let index: Int?
        /// Where its bytes end, and those of the next entry begin.
        let end: Int
        var isForgotten = false

        var isStreamed: Bool { index != nil }
        /// The oldest lease first, and of each what it streamed before its answer.
        var order: (Lease, Int) { (claim.lease, index ?? .max) }
    }

    private var writer = MessagePackWriter()
    private var entries: [Entry] = []
    /// Those before this one are forgotten.
    private var first = 0
    /// How many are not forgotten, and about the bytes that they take.
    private(set) var count = 0
    private(set) var bytes = 0
    /// How many of them are streamed.
    private(set) var streamed = 0

    /// What an entry takes beside what is written.
    private static var overhead: Int { 40 }

    var isEmpty: Bool { count == 0 }
    /// How many are answers, and not streamed.
    var answers: Int { count - streamed }
    /// How many bytes it has, those of the forgotten included.
    var written: Int { writer.count }

    /// The lease of the oldest answer.
    var oldest: Lease? { entries[first...].first { !$0.isForgotten && !$0.isStreamed }?.claim.lease }

    /// Looks at each answer.
    func answers(_ lease: Lease) -> Bool {
        entries[first...].contains { $0.claim.lease == lease && !$0.isStreamed && !$0.isForgotten }
    }

    // MARK: To be sent

    /// Writes a result behind the others. Returns about the bytes that it takes.
    mutating func append(_ claim: JobClaim, _ answer: JobResult.Answer) -> Int {
        let start = writer.count
        claim.write(answer, to: &writer)
        return append(claim, index: answer.isStreamed ? answer.index : nil, from: start)
    }

    /// The same with an answer of one message.
    mutating func append(_ claim: JobClaim, message: UnsafeRawBufferPointer) -> Int {
        let start = writer.count
        claim.write(message: message, to: &writer)
        return append(claim, index: nil, from: start)
    }

    /// The same, with an answer of another batch.
    mutating func append(_ entry: Entry, at place: Int, of other: AnswerBatch) {
        let start = writer.count
        other.writer.bytes[other.start(of: place)..<entry.end].withUnsafeBytes { writer.writeRaw($0) }
        _ = append(entry.claim, index: entry.index, from: start)
    }

    private mutating func append(_ claim: JobClaim, index: Int?, from start: Int) -> Int {
        let size = writer.count - start + Self.overhead
        entries.append(Entry(claim: claim, index: index, end: writer.count))
        count += 1
        bytes += size
        if index != nil { streamed += 1 }
        return size
    }

    /// The body of the frame that brings all of them.
    mutating func body() -> [UInt8] {
        if count < entries.count { compact() }
        var body = MessagePackWriter(reserving: writer.count + 5)
        body.writeArrayHeader(count)
        writer.bytes.withUnsafeBytes { body.writeRaw($0) }
        return body.bytes
    }

    // MARK: To be forgotten

    /// Forgets the oldest answers, as long as they are the next of these. Returns how many, and about the bytes that they took.
    mutating func forgetFirst(_ leases: ArraySlice<Lease>) -> (count: Int, bytes: Int) {
        var (forgotten, freed) = (0, 0)
        for lease in leases {
            while first < entries.count, entries[first].isForgotten { first += 1 }
            guard first < entries.count, entries[first].claim.lease == lease else { break }
            freed += size(at: first)
            forgotten += 1
            first += 1
        }
        count -= forgotten
        bytes -= freed
        return (forgotten, freed)
    }

    /// Forgets all that are meant. Returns about the bytes that they took.
    mutating func forget(_ isMeant: (Entry) -> Bool) -> Int {
        let before = bytes
        for place in first..<entries.count where !entries[place].isForgotten && isMeant(entries[place]) {
            entries[place].isForgotten = true
            count -= 1
            bytes -= size(at: place)
            if entries[place].isStreamed { streamed -= 1 }
        }
        // What is kept takes at most twice its size.
        if count > 0, bytes * 2 < writer.count { compact() }
        return before - bytes
    }

    /// Those that are not forgotten, with their places.
    func forEach(_ body: (Entry, Int) -> Void) {
        for place in first..<entries.count where !entries[place].isForgotten { body(entries[place], place) }
    }

    /// Begins anew, and keeps its memory.
    mutating func removeAll() {
        writer.removeAll()
        entries.removeAll(keepingCapacity: true)
        (first, count, bytes, streamed) = (0, 0, 0, 0)
    }

    private func start(of place: Int) -> Int { place == 0 ? 0 : entries[place - 1].end }

    func size(at place: Int) -> Int { entries[place].end - start(of: place) + Self.overhead }

    /// Leaves the bytes of the forgotten out.
    private mutating func compact() {
        var kept = AnswerBatch()
        forEach { kept.append($0, at: $1, of: self) }
        self = kept
    }
}
