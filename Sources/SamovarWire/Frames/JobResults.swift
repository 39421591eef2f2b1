import MessagePack
package import SamovarCore

/// The results of one frame, in order.
///
/// Nearly all are answers of one message. Such a result is a row of numbers, and its message stands in the frame that brought it: there is
/// one object for some hundred results, and not one for each.
public struct JobResults: Equatable, Sendable {
    package struct Row: Sendable {
        package enum Answer: Sendable {
            /// One message, which stands here in the frame.
            case message(Range<Int>)
            /// One of the others.
            case other(Int)
        }

        package let effect: EffectID
        package let lease: Lease
        package let token: UInt64
        package let answer: Answer
    }

    package let rows: [Row]
    /// The frame.
    package let bytes: [UInt8]
    /// What those say that are no answers of one message.
    package let others: [JobResult.Answer]

    fileprivate init(rows: [Row], bytes: [UInt8], others: [JobResult.Answer]) {
        self.rows = rows
        self.bytes = bytes
        self.others = others
    }

    /// These results.
    public init(_ results: some Collection<JobResult>) {
        rows = results.enumerated().map { number, result in
            Row(effect: result.effect, lease: result.lease, token: result.token, answer: .other(number))
        }
        bytes = []
        others = results.map(\.answer)
    }

    package func answer(of row: Row) -> JobResult.Answer {
        switch row.answer {
        case .message(let place): .done(MessageList(bytes[place]))
        case .other(let number): others[number]
        }
    }

    /// The number of a streamed message; 0 for an answer.
    package func index(of row: Row) -> Int {
        switch row.answer {
        case .message: 0
        case .other(let number): others[number].index
        }
    }

    package func filtered(_ isKept: (Row) -> Bool) -> JobResults {
        let kept = rows.filter(isKept)
        return kept.count == rows.count ? self : JobResults(rows: kept, bytes: bytes, others: others)
    }

    public static func == (a: JobResults, b: JobResults) -> Bool { a.elementsEqual(b) }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(count)
        for result in self { result.write(to: &writer) }
    }
}

extension JobResults: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { rows.count }

    public subscript(position: Int) -> JobResult {
        let row = rows[position]
        return JobResult(effect: row.effect, lease: row.lease, token: row.token, answer: answer(of: row))
    }
}

extension JobResults: ExpressibleByArrayLiteral {
    public init(arrayLiteral results: JobResult...) { self.init(results) }
}

extension JobResults: CustomStringConvertible {
    public var description: String { "\(Array(self))" }
}

extension ShortReader {
    /// Reads an answer of one message.
    fileprivate mutating func readResult() -> JobResults.Row {
        readArrayHeader(of: 6)
        let (effect, lease, token) = (readEffect(), readLease(), readUInt64())
        // As `JobResult.Answer` has it.
        read(expected: 0)
        readArrayHeader(of: 1)
        return JobResults.Row(effect: effect, lease: lease, token: token, answer: .message(readBinaryPlace()))
    }
}

extension MessagePackReader {
    /// Reads the results of a frame, of whose body this is the reader.
    mutating func readResults(of body: [UInt8]) throws -> JobResults {
        let count = try readArrayHeader()
        var rows: [JobResults.Row] = []
        rows.reserveCapacity(Swift.min(count, 4_096))
        var others: [JobResult.Answer] = []
        for _ in 0..<count {
            if let row = readShort({ $0.readResult() }) {
                rows.append(row)
            } else {
                let result = try JobResult(from: &self)
                rows.append(
                    JobResults.Row(effect: result.effect, lease: result.lease, token: result.token, answer: .other(others.count)))
                others.append(result.answer)
            }
        }
        return JobResults(rows: rows, bytes: body, others: others)
    }
}

extension JobResult.Answer {
    /// The number of a streamed message; 0 for an answer.
    @inlinable package var index: Int {
        if case .streamed(let index, _, _) = self { index } else { 0 }
    }
}
