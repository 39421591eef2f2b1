import SHA2
import Testing

@Suite struct SHA256Tests {
    /// The examples of FIPS 180-2, and the digest of nothing.
    @Test(arguments: [
        ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func `Digests are those of the standard`(_ text: String, _ times: Int, _ expected: String) {
        #expect(hexadecimal(digest(of: Array(String(repeating: text, count: times).utf8))) == expected)
    }

    @Test(arguments: [1, 55, 56, 63, 64, 65, 1_000])
    func `Pieces of any size give the digest of the whole`(_ size: Int) {
        let whole = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        var hash = SHA256()
        for start in stride(from: 0, to: whole.count, by: size) {
            whole[start..<min(start + size, whole.count)].withUnsafeBytes { hash.update($0) }
        }
        #expect(hash.finalize() == digest(of: whole))
    }

    @Test func `A copy goes on by itself`() {
        var hash = SHA256()
        hash.update(Array("a".utf8))
        var copy = hash
        copy.update(Array("bc".utf8))
        #expect(hash.finalize() == digest(of: Array("a".utf8)))
        #expect(copy.finalize() == digest(of: Array("abc".utf8)))
    }

    private func digest(of bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension SHA256 {
    fileprivate mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }
}
