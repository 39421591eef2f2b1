import Testing

@testable import ZeroMQ

/// What libzmq asks, and what it hears.
@Suite struct ZAPTests {
    private func frames(
        domain: String = "front", address: String = "127.0.0.1", mechanism: String = "NULL", _ credentials: [[UInt8]] = []
    ) -> [[UInt8]] {
        [[9], []] + ["1.0", "1", domain, address, "", mechanism].map { Array($0.utf8) } + credentials
    }

    private func request(_ frames: [[UInt8]]) -> ZAPRequest? { ZAPEnvelope(frames)?.request }

    @Test func `Tells who it is`() throws {
        let key = try CurveKeyPair().publicKey
        #expect(
            request(frames(mechanism: "CURVE", [key.bytes]))
                == ZAPRequest(address: "127.0.0.1", credentials: .key(key)))
        #expect(request(frames()) == ZAPRequest(address: "127.0.0.1", credentials: .none))
        #expect(request(frames(address: "::1")) == ZAPRequest(address: "::1", credentials: .none))
        #expect(
            request(frames(address: "localhost:1000:100:4711"))
                == ZAPRequest(address: "localhost:1000", credentials: .user(1000)))
    }

    @Test(arguments: ["localhost:", "localhost::100:1", "localhost:-1:1:1", "localhost:root:1:1", "localhost:4294967296:1:1"])
    func `A user without a number is nobody`(_ address: String) {
        #expect(request(frames(address: address)) == nil)
    }

    @Test func `Other mechanisms and other numbers of credentials are nothing that could be granted`() {
        for mechanism in ["PLAIN", "GSSAPI", "curve", ""] {
            #expect(request(frames(mechanism: mechanism, [Array(repeating: 1, count: 32)])) == nil)
        }
        let key = [UInt8](repeating: 1, count: 32)
        for credentials: [[UInt8]] in [[], [[1]], [key + [1]], [key, key]] {
            #expect(request(frames(mechanism: "CURVE", credentials)) == nil)
        }
        #expect(request(frames(mechanism: "NULL", [[1]])) == nil)
    }

    @Test func `What is no request is not granted, and answered if there is a way back`() {
        let whole = frames()
        for count in whole.indices {
            let envelope = ZAPEnvelope(Array(whole[..<count]))
            #expect(envelope?.request == nil)
            #expect((envelope != nil) == (count >= 4))
        }
        var other = whole
        other[2] = Array("2.0".utf8)
        #expect(ZAPEnvelope(other) != nil && request(other) == nil)
        #expect(ZAPEnvelope([[9], [1]] + whole[2...]) == nil)
    }

    @Test(arguments: [
        (ZAPVerdict.accept(userID: "me"), "200", "me"), (.accept(userID: ""), "300", ""), (.refuse, "400", ""),
    ])
    func `Has an answer for each verdict`(_ verdict: ZAPVerdict, _ code: String, _ userID: String) throws {
        let answer = try #require(ZAPEnvelope(frames())).answer(verdict)
        #expect(answer.count == 8)
        #expect(answer[..<4] == [[9], [], Array("1.0".utf8), Array("1".utf8)])
        #expect(answer[4] == Array(code.utf8))
        #expect(answer[6] == Array(userID.utf8))
        #expect(answer[7].isEmpty)
    }

    @Test func `Of each address one refusal in ten seconds is reported, and how many were not`() {
        var reports = RefusalReports()
        let begin = ContinuousClock.now
        #expect(reports.refused("a", now: begin) == 0)
        #expect(reports.refused("b", now: begin) == 0)
        for second in 1...9 { #expect(reports.refused("a", now: begin + .seconds(second)) == nil) }
        #expect(reports.refused("a", now: begin + .seconds(10)) == 9)
        #expect(reports.refused("b", now: begin + .seconds(10)) == 0)
    }

    @Test func `So many addresses are kept and no more`() {
        var reports = RefusalReports()
        let begin = ContinuousClock.now
        for number in 0..<RefusalReports.maximumAddresses { #expect(reports.refused("\(number)", now: begin) == 0) }
        #expect(reports.refused("another", now: begin) == nil)
        #expect(reports.refused("another", now: begin + RefusalReports.interval) == 0)
    }
}
