import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarWire
@Suite struct RoundTripTests {
    @Test(arguments: FrameExample.all)
    func `A frame is read as it was written`(_ example: FrameExample) throws {
        #expect(try Envelope(parts: example.envelope.parts) == example.envelope)
    }

    @Test func `Every kind has an example`() {
        let kinds = Set(FrameExample.all.map(\.envelope.frame.kind))
        #expect(kinds == Set(FrameKind.allCases))
    }

    @Test func `A frame without body is one part`() {
        #expect(Envelope(.ping(7), timeline: .zero).parts.map(\.count) == [FrameHeader.size])
        #expect(Envelope(.goodbye, timeline: .zero).parts.map(\.count) == [FrameHeader.size])
    }

    @Test func `Extreme numbers survive`() throws {
        for number in [Int.min, -1, 0, 1, Int.max] {
            let envelope = Envelope(.ping(number), timeline: Timeline(high: .max, low: .max))
            #expect(try Envelope(parts: envelope.parts) == envelope)
            let outcome = Envelope(
                .receipt([Outcome(sequence: number, turn: number, verdict: .applied)], credit: number), timeline: .zero)
            #expect(try Envelope(parts: outcome.parts) == outcome)
        }
    }

    @Test func `An empty list is a body`() throws {
        let envelope = Envelope(.acknowledge([]), timeline: .zero)
        #expect(envelope.parts.count == 2)
        #expect(try Envelope(parts: envelope.parts) == envelope)
    }

    @Test(arguments: [0, 1, 15, 16, 1_000])
    func `A list of any length survives`(_ count: Int) throws {
        let leases = (0..<count).map { Lease(start: 1, counter: $0) }
        let envelope = Envelope(.cancel(leases, number: 1), timeline: .zero)
        #expect(try Envelope(parts: envelope.parts) == envelope)
    }

    @Test(arguments: PeerError.Code.allCases)
    func `Every error code survives`(_ code: PeerError.Code) throws {
        let envelope = Envelope(
            .error(PeerError(code, "why", expected: 9, wait: .milliseconds(250))), timeline: .zero)
        #expect(try Envelope(parts: envelope.parts) == envelope)
    }

    @Test(arguments: Failure.Reason.allCases)
    func `Every reason of a failure survives`(_ reason: Failure.Reason) throws {
        let result = JobResult(
            effect: FrameExample.effect, lease: FrameExample.lease, token: .max, answer: .failed(reason, "why", permanent: false))
        let envelope = Envelope(.result([result], credit: 0), timeline: .zero)
        #expect(try Envelope(parts: envelope.parts) == envelope)
    }

    @Test func `No topic is the beginning of another`() {
        #expect(viewTopic(of: .main) == Array("view/main".utf8) + [0])
        #expect(!viewTopic(of: "main2").starts(with: viewTopic(of: .main)))
    }
}
