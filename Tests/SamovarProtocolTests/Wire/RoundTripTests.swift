import MessagePack
import SamovarCore
import SamovarProtocol
import Testing

@Suite struct RoundTripTests {
    @Test(arguments: FrameExample.all)
    func aFrameIsReadAsItWasWritten(_ example: FrameExample) throws {
        #expect(try Envelope(parts: example.envelope.parts) == example.envelope)
    }

    @Test func everyKindHasAnExample() {
        let kinds = Set(FrameExample.all.map(\.envelope.frame.kind))
        #expect(kinds == Set(FrameKind.allCases))
    }

    @Test func aFrameWithoutBodyIsOnePart() {
        #expect(Envelope(.ping(7), timeline: .zero).parts.map(\.count) == [FrameHeader.size])
        #expect(Envelope(.goodbye, timeline: .zero).parts.map(\.count) == [FrameHeader.size])
    }

    @Test func extremeNumbersSurvive() throws {
        for number in [Int.min, -1, 0, 1, Int.max] {
            let envelope = Envelope(.ping(number), timeline: Timeline(high: .max, low: .max))
            #expect(try Envelope(parts: envelope.parts) == envelope)
            let outcome = Envelope(
                .receipt([Outcome(sequence: number, turn: number, verdict: .applied)], credit: number), timeline: .zero)
            #expect(try Envelope(parts: outcome.parts) == outcome)
        }
    }

    @Test func anEmptyListIsABody() throws {
        let envelope = Envelope(.acknowledge([]), timeline: .zero)
        #expect(envelope.parts.count == 2)
        #expect(try Envelope(parts: envelope.parts) == envelope)
    }

    @Test(arguments: [0, 1, 15, 16, 1_000])
    func aListOfAnyLengthSurvives(_ count: Int) throws {
        let leases = (0..<count).map { Lease(start: 1, counter: $0) }
        let envelope = Envelope(.cancel(leases), timeline: .zero)
        #expect(try Envelope(parts: envelope.parts) == envelope)
    }

    @Test(arguments: PeerError.Code.allCases)
    func everyErrorCodeSurvives(_ code: PeerError.Code) throws {
        let envelope = Envelope(
            .error(PeerError(code, "why", expected: 9, wait: .milliseconds(250))), timeline: .zero)
        #expect(try Envelope(parts: envelope.parts) == envelope)
    }

    @Test(arguments: Failure.Reason.allCases)
    func everyReasonOfAFailureSurvives(_ reason: Failure.Reason) throws {
        let result = JobResult(
            effect: FrameExample.effect, lease: FrameExample.lease, token: .max, answer: .failed(reason, "why", permanent: false))
        let envelope = Envelope(.result([result], credit: 0), timeline: .zero)
        #expect(try Envelope(parts: envelope.parts) == envelope)
    }

    @Test func noTopicIsTheBeginningOfAnother() {
        #expect(viewTopic(of: .main) == Array("view/main".utf8) + [0])
        #expect(!viewTopic(of: "main2").starts(with: viewTopic(of: .main)))
    }
}
