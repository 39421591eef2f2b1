import Testing
import ZeroMQ

@Suite struct CurveKeyTests {
    /// Of the manual page zmq_curve(7).
    static let publicText = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
    static let secretText = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"

    private func secretKey(_ text: String) -> CurveSecretKey? {
        var text = text
        return text.withUTF8 { CurveSecretKey(z85: UnsafeRawBufferPointer($0)) }
    }

    @Test func `A public key is what its text says, and the other way round`() throws {
        let key = try #require(CurvePublicKey(z85: Self.publicText))
        #expect(key.bytes.prefix(4) == [0xbb, 0x88, 0x47, 0x1d])
        #expect(key.z85 == Self.publicText)
        #expect(CurvePublicKey(key.bytes) == key)
    }

    /// Not a test with arguments: the test runner prints those, and its line would end at the zero byte.
    @Test func `What is no key is none`() {
        let blank = String(repeating: " ", count: 40)
        let outside = String(repeating: "#", count: 40)
        for text in ["", "Yne@$", blank, outside, "\0" + Self.publicText.dropFirst()] {
            #expect(CurvePublicKey(z85: text) == nil)
            #expect(secretKey(text) == nil)
            #expect(CurvePublicKey(Array(text.utf8.prefix(31))) == nil)
        }
    }

    @Test func `A secret key has one public key`() throws {
        let secret = try #require(secretKey(Self.secretText))
        #expect(try CurveKeyPair(secret).publicKey.z85 == Self.publicText)
        #expect(secret.withZ85 { String(decoding: $0, as: UTF8.self) } == Self.secretText)
    }

    @Test func `Each new pair is another one, and its halves belong together`() throws {
        let (first, second) = (try CurveKeyPair(), try CurveKeyPair())
        #expect(first.publicKey != second.publicKey)
        #expect(try CurveKeyPair(first.secretKey).publicKey == first.publicKey)
    }

    @Test func `A secret is never printed`() throws {
        let pair = try CurveKeyPair(try #require(secretKey(Self.secretText)))
        var options = SocketOptions.client
        options.security = .curveClient(pair, server: pair.publicKey)
        var dumped = ""
        dump(options, to: &dumped)
        for text in ["\(pair)", String(reflecting: pair), "\(pair.secretKey)", String(reflecting: pair.secretKey), dumped] {
            #expect(text.contains("secret"))
            #expect(!text.contains(Self.secretText))
            #expect(!text.contains("0x"))
        }
    }

    @Test func `Secret bytes are zeros before, and whatever they were is gone afterwards`() {
        var place: UnsafeMutableRawBufferPointer?
        withSecretBytes(40) { bytes in
            #expect(bytes.allSatisfy { $0 == 0 })
            bytes.copyBytes(from: Array(repeating: 7, count: 40))
            place = bytes
        }
        #expect(place?.count == 40)
    }
}
