import SamovarCore
import Testing

@Suite struct TimestampTests {
    @Test func `Addition saturates at both ends`() {
        let last = Timestamp(microseconds: .max)
        let first = Timestamp(microseconds: .min)
        #expect(last + .microseconds(1) == last)
        #expect(first + .microseconds(-1) == first)
        #expect(Timestamp(microseconds: 5) + .seconds(Int64.max) == last)
        #expect(Timestamp(microseconds: -5) + .seconds(Int64.min) == first)
        #expect(Timestamp(microseconds: 5) + .milliseconds(2) == Timestamp(microseconds: 2_005))
    }

    @Test func `Difference saturates at both ends`() {
        let last = Timestamp(microseconds: .max)
        let first = Timestamp(microseconds: .min)
        #expect(last - first == .microseconds(Int64.max))
        #expect(first - last == .microseconds(Int64.min))
        #expect(Timestamp(microseconds: 7) - Timestamp(microseconds: 9) == .microseconds(-2))
    }

    @Test func `Durations are rounded towards zero and saturate`() {
        #expect(Duration.nanoseconds(1_999).microseconds == 1)
        #expect(Duration.nanoseconds(-1_999).microseconds == -1)
        #expect(Duration.milliseconds(-1_500).microseconds == -1_500_000)
        #expect(Duration.seconds(Int64.max).microseconds == .max)
        #expect(Duration.seconds(Int64.min).microseconds == .min)
        #expect((Duration.seconds(Int64.max) * 3).microseconds == .max, "more seconds than fit")
        #expect((Duration.seconds(Int64.min) * 3).microseconds == .min)
        #expect(Duration.microseconds(Int64.max - 1).microseconds == .max - 1)
        #expect(Duration.microseconds(Int64.min + 1).microseconds == .min + 1)
        #expect(Duration.microseconds(Int64.max).microseconds == .max)
        #expect(Duration.microseconds(Int64.min).microseconds == .min)
    }
}

@Suite struct UniqueIDTests {
    @Test func `Text is read as it is written`() throws {
        var random = Random(seed: 1)
        for _ in 0..<1_000 {
            let id = UniqueID(high: random.next() >> UInt64.random(in: 0..<64, using: &random), low: random.next())
            #expect(UniqueID("\(id)") == id)
        }
        let id = try #require(UniqueID("6F1C0D52-8f5e-4b0e-9a57-0c1d2e3f4a5b"))
        #expect("\(id)" == "6f1c0d52-8f5e-4b0e-9a57-0c1d2e3f4a5b")
        #expect(UniqueID("6f1c0d528f5e4b0e9a570c1d2e3f4a5b") == id)
        #expect("\(UniqueID.zero)" == "00000000-0000-0000-0000-000000000000")
    }

    @Test(arguments: [
        "", "-", "6f1c0d52-8f5e-4b0e-9a57-0c1d2e3f4a5", "6f1c0d52-8f5e-4b0e-9a57-0c1d2e3f4a5b0",
        "6f1c0d52-8f5e-4b0e-9a57-0c1d2e3f4a5g", " 6f1c0d52-8f5e-4b0e-9a57-0c1d2e3f4a5b", "null",
    ])
    func `Anything else is no identity`(_ text: String) {
        #expect(UniqueID(text) == nil)
    }

    @Test func `The high word decides the order`() {
        #expect(UniqueID(high: 1, low: 9) < UniqueID(high: 2, low: 0))
        #expect(UniqueID(high: 1, low: 1) < UniqueID(high: 1, low: 2))
    }
}

@Suite struct FailureTests {
    @Test func `Tells reason attempts and text`() {
        #expect("\(Failure(reason: .threw, text: "no route", attempts: 1))" == "failed after 1 attempt: no route")
        #expect("\(Failure(reason: .timedOut, text: "", attempts: 3))" == "timed out after 3 attempts")
        #expect("\(Failure(reason: .workerDied, text: "silent", attempts: 3))" == "killed its workers after 3 attempts: silent")
        #expect("\(Failure(reason: .unhandled, text: "", attempts: 1))" == "could not be handled after 1 attempt")
    }

    @Test func `Text is cut after a thousand characters`() {
        #expect(Failure(reason: .threw, text: String(repeating: "é", count: 5_000), attempts: 1).text.count == 1_000)
    }
}
