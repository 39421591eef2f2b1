import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarWire

/// The results of a frame are the same whether they are read as rows or one by one.
@Suite struct JobResultsTests {
    private let results: JobResults = JobResults(
        [
            .done([[1, 2, 3]]), .done([[]]), .done([]), .done([[1], [2]]), .returned, .failed(.threw, "no", permanent: true),
            .streamed(index: 3, message: [4], checkpoint: nil), .done([[UInt8](repeating: 7, count: 300)]), .done([[9]]),
        ].enumerated().map { number, answer in
            JobResult(
                effect: EffectID(turn: 1 << (4 * number), ordinal: number), lease: Lease(start: 1, counter: 1 << (5 * number)),
                token: UInt64.max >> UInt64(6 * number), answer: answer)
        })

    private var body: [UInt8] {
        var writer = MessagePackWriter()
        results.write(to: &writer)
        return writer.bytes
    }

    private func rows(_ body: [UInt8]) throws -> JobResults {
        var reader = MessagePackReader(body)
        return try reader.readResults(of: body)
    }

    private func each(_ body: [UInt8]) throws -> JobResults {
        var reader = MessagePackReader(body)
        return JobResults(try reader.readList { try JobResult(from: &$0) })
    }

    @Test func `They are what was written`() throws {
        let read = try rows(body)
        #expect(read == results && Array(read) == Array(results))
        #expect(read.rows.count { if case .message = $0.answer { true } else { false } } >= 3, "most are rows and no more")
        #expect(read != JobResults(results.dropLast()) && read.description == results.description)
    }

    @Test func `A body with any other byte reads the same, or throws the same`() {
        let body = body
        for place in body.indices {
            for byte in [0x00, 0x01, 0x7f, 0x80, 0x90, 0x91, 0x92, 0x96, 0xc0, 0xc1, 0xc4, 0xc5, 0xc6, 0xcc, 0xcf, 0xd3, 0xff]
                as [UInt8]
            {
                var other = body
                other[place] = byte
                let one = Result { try rows(other) }.mapError { Failed(text: "\($0)") }
                let all = Result { try each(other) }.mapError { Failed(text: "\($0)") }
                #expect(one == all, "byte \(place) as \(byte)")
            }
        }
    }

    @Test func `A body that ends early throws the same`() {
        let body = body
        for count in body.indices {
            let part = Array(body[..<count])
            #expect(throws: (any Error).self) { try rows(part) }
        }
    }

    private struct Failed: Error, Equatable {
        let text: String
    }
}
