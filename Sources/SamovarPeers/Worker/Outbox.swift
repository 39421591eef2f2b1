import DequeModule
import SamovarCore
package import SamovarWire

/// The answers of a worker that the store has not acknowledged, and before each of them what its job has streamed.
///
/// A result stays until its acknowledgement, because the store may die between taking it and writing it down. How many there are
/// is bounded by the worker's credit, which stops growing at the outbox's limits, and by the window of each stream.
struct Outbox {
    /// Answers that were sent, in the order in which they were: a batch for each frame, none of them empty.
    private var sent: Deque<AnswerBatch> = []
    /// How many they are.
    private var sentCount = 0
    /// Streamed messages of each job, with neighbouring numbers, sent or not.
    private var streams: [Lease: Deque<JobResult>] = [:]
    /// Answers and streamed messages that are to be sent: the batch that grows, and before it those that are full.
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
    private var unsentStreamed: Int { unsent.reduce(0) { $0 + $1.streamed } }

    /// Answers, streamed messages not counted.
    var count: Int { sentCount + full.reduce(growing.answers) { $0 + $1.answers } }
    var isEmpty: Bool { count == 0 && streams.isEmpty }
    var hasUnsent: Bool { !growing.isEmpty || !full.isEmpty }
    /// Some results are sent and not acknowledged.
    var awaitsAcknowledgement: Bool {
        sentCount > 0 || (!streams.isEmpty && streams.values.reduce(0) { $0 + $1.count } > unsentStreamed)
    }

    /// What has waited longest for its acknowledgement: the oldest answer, and the oldest message of each stream.
    struct Oldest: Equatable {
        fileprivate let answer: Lease?
        fileprivate let messages: [Lease: Int]
    }

    var oldest: Oldest {
        Oldest(answer: sent.first?.oldest, messages: streams.isEmpty ? [:] : streams.compactMapValues { $0.first?.answer.index })
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
        let size = answer.size
        makeRoom(for: size)
        let written = growing.append(claim, answer)
        guard answer.isStreamed else { return bytes += written }
        let message = JobResult(effect: claim.effect, lease: claim.lease, token: claim.token, answer: answer)
        streams[claim.lease, default: []].append(message)
        bytes += size
    }

    /// An answer of one message.
    mutating func add(_ claim: JobClaim, message: UnsafeRawBufferPointer) {
        makeRoom(for: 64 + message.count)
        bytes += growing.append(claim, message: message)
    }

    mutating func forget(_ leases: [Lease]) {
        var others = leases[...]
        // Nearly always, answers are acknowledged in the order in which they were sent, and nothing was streamed before them.
        while !others.isEmpty, !sent.isEmpty {
            let (count, freed) = sent[0].forgetFirst(streams.isEmpty ? others : others.prefix { streams[$0] == nil })
            if count == 0 { break }
            others.removeFirst(count)
            sentCount -= count
            bytes -= freed
            if sent[0].isEmpty { keep(sent.removeFirst()) }
        }
        if !others.isEmpty { forget(Set(others)) }
    }

    /// Looks at each answer.
    private mutating func forget(_ leases: Set<Lease>) {
        if !streams.isEmpty {
            for lease in leases {
                for message in streams.removeValue(forKey: lease) ?? [] { bytes -= message.answer.size }
            }
        }
        for place in sent.indices {
            let count = sent[place].count
            bytes -= sent[place].forget { leases.contains($0.claim.lease) }
            sentCount -= count - sent[place].count
        }
        sent.removeAll(where: \.isEmpty)
        dropUnsent { leases.contains($0.claim.lease) }
    }

    /// The streamed messages of a job up to this number are on disk.
    mutating func forget(_ mark: StreamMark) {
        guard var messages = streams.removeValue(forKey: mark.lease) else { return }
        while let first = messages.first, first.answer.index <= mark.index {
            bytes -= first.answer.size
            messages.removeFirst()
        }
        if !messages.isEmpty { streams[mark.lease] = messages }
        dropUnsent { $0.claim.lease == mark.lease && $0.isStreamed && $0.index <= mark.index }
    }

    /// The bytes of streamed messages are counted with their streams, those of answers here.
    private mutating func dropUnsent(_ isMeant: (AnswerBatch.Entry) -> Bool) {
        for place in full.indices { bytes -= Self.drop(isMeant, of: &full[place]) }
        bytes -= Self.drop(isMeant, of: &growing)
        full.removeAll(where: \.isEmpty)
    }

    private static func drop(_ isMeant: (AnswerBatch.Entry) -> Bool, of batch: inout AnswerBatch) -> Int {
        defer { if batch.streamed > 0 { _ = batch.forget { $0.isStreamed && isMeant($0) } } }
        return batch.forget { !$0.isStreamed && isMeant($0) }
    }

    mutating func forgetAll() {
        self = Outbox(limit: limit)
    }

    /// Everything is to be sent again, the oldest lease first, and of each lease what it streamed before its answer.
    mutating func rewind() {
        var answers: [Lease: (batch: AnswerBatch, place: Int, entry: AnswerBatch.Entry)] = [:]
        for batch in sent + unsent {
            batch.forEach { entry, place in if !entry.isStreamed { answers[entry.claim.lease] = (batch, place, entry) } }
        }
        sent = []
        sentCount = 0
        full = []
        growing = AnswerBatch()
        for lease in Set(answers.keys).union(streams.keys).sorted() {
            for message in streams[lease] ?? [] {
                makeRoom(for: message.answer.size)
                _ = growing.append(JobClaim(effect: message.effect, lease: lease, token: message.token), message.answer)
            }
            guard let (batch, place, entry) = answers[lease] else { continue }
            makeRoom(for: batch.size(at: place))
            growing.append(entry, at: place, of: batch)
        }
    }

    /// What was not sent yet: the bodies of frames of at most `limit` bytes.
    mutating func takeUnsent() -> [[UInt8]] {
        guard hasUnsent else { return [] }
        var batches = unsent
        full = []
        growing = fresh()
        var bodies: [[UInt8]] = []
        for place in batches.indices where !batches[place].isEmpty {
            bodies.append(batches[place].body())
            // They are kept with their streams.
            if batches[place].streamed > 0 { _ = batches[place].forget { $0.isStreamed } }
            if batches[place].isEmpty { continue }
            sentCount += batches[place].count
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

    private mutating func fresh() -> AnswerBatch {
        defer { spare = nil }
        return spare ?? AnswerBatch()
    }

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
        case .done(let messages): 64 + messages.bytes + messages.count * 5
        case .failed(_, let text, _): 80 + text.utf8.count
        case .returned: 64
        case .streamed(_, let message, let checkpoint): 80 + message.count + (checkpoint?.count ?? 0)
        }
    }

    /// What the store is told instead, if it cannot take this answer.
    package func replacement(limit: Int) -> Self? {
        switch self {
        case .done(let messages):
            let bytes = messages.bytes
            guard bytes > limit else { return nil }
            return .failed(.unhandled, "an answer of \(bytes) bytes; \(limit) at most", permanent: true)
        case .failed(let reason, let text, let permanent):
            let bounded = text.bounded()
            return bounded.utf8.count < text.utf8.count ? .failed(reason, bounded, permanent: permanent) : nil
        case .returned, .streamed:
            return nil
        }
    }
}
