import DequeModule
import SamovarCore
package import SamovarWire

/// The answers of a worker that the store has not acknowledged, and before each of them what its job has streamed.
///
/// A result stays until its acknowledgement, because the store may die between taking it and writing it down. How many there are
/// is bounded by the worker's credit, which stops growing at the outbox's limits, and by the window of each stream.
struct Outbox {
    /// What was sent, in the order in which it was: a batch for each frame, none of them empty.
    private var sent: Deque<AnswerBatch> = []
    /// How many answers are among it.
    private var sentCount = 0
    /// What is to be sent: the batch that grows, and before it those that are full.
    private var growing = AnswerBatch()
    private var full: [AnswerBatch] = []
    /// An empty batch, whose memory is used again.
    private var spare: AnswerBatch?
    private(set) var bytes = 0
    /// The bytes of a frame; a larger result has a frame of its own.
    private let limit: Int

    /// What the spare batch may have held.
    private static var spareBytes: Int { 256 << 10 }

    init(limit: Int) {
        self.limit = limit
    }

    private var unsent: [AnswerBatch] { full + [growing] }
    /// Some streamed messages are sent or to be sent.
    private var hasStreamed: Bool {
        growing.streamed > 0 || full.contains { $0.streamed > 0 } || sent.contains { $0.streamed > 0 }
    }

    /// Answers, streamed messages not counted.
    var count: Int { sentCount + full.reduce(growing.answers) { $0 + $1.answers } }
    var isEmpty: Bool { !awaitsAcknowledgement && !hasUnsent }
    var hasUnsent: Bool { !growing.isEmpty || !full.isEmpty }
    /// Some results are sent and not acknowledged.
    var awaitsAcknowledgement: Bool { !sent.isEmpty }

    /// What has waited longest for its acknowledgement: the oldest answer, and the oldest message of each stream.
    struct Oldest: Equatable {
        fileprivate let answer: Lease?
        fileprivate let messages: [Lease: Int]
    }

    var oldest: Oldest {
        var messages: [Lease: Int] = [:]
        if hasStreamed {
            for batch in sent + unsent {
                batch.forEach { entry, _ in
                    if let index = entry.index { messages[entry.claim.lease] = messages[entry.claim.lease] ?? index }
                }
            }
        }
        return Oldest(answer: sent.first { $0.answers > 0 }?.oldest, messages: messages)
    }

    /// Whether some of these still wait.
    func holds(anyOf former: Oldest) -> Bool {
        let oldest = oldest
        if let answer = former.answer, answer == oldest.answer { return true }
        return oldest.messages.contains { former.messages[$0.key] == $0.value }
    }

    var claims: [JobClaim] {
        var claims: [JobClaim] = []
        for batch in sent + unsent { batch.forEach { entry, _ in if !entry.isStreamed { claims.append(entry.claim) } } }
        return claims
    }

    /// Looks at each answer.
    func holds(_ lease: Lease) -> Bool {
        sent.contains { $0.answers(lease) } || growing.answers(lease) || full.contains { $0.answers(lease) }
    }

    mutating func add(_ claim: JobClaim, _ answer: JobResult.Answer) {
        makeRoom(for: answer.size)
        bytes += growing.append(claim, answer)
    }

    /// An answer of one message.
    mutating func add(_ claim: JobClaim, message: UnsafeRawBufferPointer) {
        makeRoom(for: 64 + message.count)
        bytes += growing.append(claim, message: message)
    }

    /// These answers, and what their jobs have streamed.
    mutating func forget(_ leases: [Lease]) {
        var others = leases[...]
        // Nearly always, answers are acknowledged in the order in which they were sent, and nothing is streamed beside them.
        while !others.isEmpty, !sent.isEmpty, sent[0].streamed == 0 {
            let (count, freed) = sent[0].forgetFirst(others)
            if count == 0 { break }
            others.removeFirst(count)
            sentCount -= count
            bytes -= freed
            if sent[0].isEmpty { keep(sent.removeFirst()) }
        }
        if others.isEmpty { return }
        let left = Set(others)
        forget { left.contains($0.claim.lease) }
    }

    /// The streamed messages of these jobs up to these numbers are on disk.
    mutating func forget(_ marks: [StreamMark]) {
        let newest = Dictionary(marks.map { ($0.lease, $0.index) }, uniquingKeysWith: max)
        forget { entry in
            guard let index = entry.index, let last = newest[entry.claim.lease] else { return false }
            return index <= last
        }
    }

    /// Looks at all that is kept.
    private mutating func forget(_ isMeant: (AnswerBatch.Entry) -> Bool) {
        for place in sent.indices { bytes -= sent[place].forget(isMeant) }
        for place in full.indices { bytes -= full[place].forget(isMeant) }
        bytes -= growing.forget(isMeant)
        sent.removeAll(where: \.isEmpty)
        full.removeAll(where: \.isEmpty)
        sentCount = sent.reduce(0) { $0 + $1.answers }
    }

    mutating func forgetAll() {
        self = Outbox(limit: limit)
    }

    /// Everything is to be sent again, the oldest lease first, and of each lease what it streamed before its answer.
    mutating func rewind() {
        var entries: [(batch: AnswerBatch, place: Int, entry: AnswerBatch.Entry)] = []
        for batch in sent + unsent { batch.forEach { entry, place in entries.append((batch, place, entry)) } }
        sent = []
        sentCount = 0
        full = []
        growing = AnswerBatch()
        for (batch, place, entry) in entries.sorted(by: { $0.entry.order < $1.entry.order }) {
            makeRoom(for: batch.size(at: place))
            growing.append(entry, at: place, of: batch)
        }
    }

    /// What was not sent yet: the bodies of frames of at most `limit` bytes.
    mutating func takeUnsent() -> [[UInt8]] {
        var batches = unsent
        full = []
        growing = fresh()
        var bodies: [[UInt8]] = []
        for place in batches.indices where !batches[place].isEmpty {
            bodies.append(batches[place].body())
            sentCount += batches[place].answers
            sent.append(batches[place])
        }
        return bodies
    }

    // MARK: Batches

    private mutating func makeRoom(for size: Int) {
        guard !growing.isEmpty, growing.bytes + size > limit else { return }
        full.append(growing)
        growing = fresh()
    }

    private mutating func fresh() -> AnswerBatch { spare.take() ?? AnswerBatch() }

    private mutating func keep(_ batch: consuming AnswerBatch) {
        guard spare == nil, batch.written <= Self.spareBytes else { return }
        batch.removeAll()
        spare = batch
    }
}

extension JobResult.Answer {
    /// About the bytes that a result with it takes in a frame.
    var size: Int {
        switch self {
        case .done(let messages): Self.size(of: messages.bytes, in: messages.count)
        case .failed(_, let text, _): 80 + text.utf8.count
        case .returned: 64
        case .streamed(_, let message, let checkpoint): 80 + message.count + (checkpoint?.count ?? 0)
        }
    }

    /// The same for an answer of so many messages, which have so many bytes together and each the longest header.
    static func size(of bytes: Int, in messages: Int) -> Int { 64 + bytes + messages * 5 }

    /// What the store is told instead, if it cannot take this answer.
    package func replacement(limit: Int) -> Self? {
        switch self {
        case .done:
            // The headers count: of many small messages they are most of the frame, and the store's listener cuts off who sends a larger one.
            guard size > limit else { return nil }
            return .failed(.unhandled, "an answer of \(size) bytes; \(limit) at most", permanent: true)
        case .failed(let reason, let text, let permanent):
            let bounded = text.bounded()
            return bounded.utf8.count < text.utf8.count ? .failed(reason, bounded, permanent: permanent) : nil
        case .returned, .streamed:
            return nil
        }
    }
}
