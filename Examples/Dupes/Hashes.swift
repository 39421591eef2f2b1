import SamovarCore

/// What a worker made of a batch of files.
struct Hashes: Portable {
    /// The SHA-256 digests of the files that could be read, in the order of the effect, one behind the other.
    var digests: [UInt8] = []
    /// The files that could not be read, in the order of the effect.
    var failures: [Failure] = []

    struct Failure: Portable {
        /// The place of the file in the effect.
        let index: Int
        let reason: String
    }

    /// Whether this can be the answer for `count` files: a digest or a failure for each.
    func fits(_ count: Int) -> Bool {
        let indices = failures.map(\.index)
        return digests.count == (count - failures.count) * Digest.count
            && indices.allSatisfy((0..<count).contains) && zip(indices, indices.dropFirst()).allSatisfy(<)
    }
}

/// A SHA-256 digest as a value without an array behind it.
struct Digest: Hashable, Sendable, BitwiseCopyable {
    static let count = 32

    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// - Parameter bytes: the 32 bytes of the digest; fewer count as zero.
    init(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        func word() -> UInt64 {
            defer { rest = rest.dropFirst(8) }
            return (0..<8).reduce(0) { word, offset in
                word << 8 | UInt64(offset < rest.count ? rest[rest.startIndex + offset] : 0)
            }
        }
        words = (word(), word(), word(), word())
    }

    var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    static func == (a: Digest, b: Digest) -> Bool { a.words == b.words }

    func hash(into hasher: inout Hasher) {
        // A part of a digest is as good as any hash, and the whole is compared.
        hasher.combine(words.0)
    }
}

extension Digest: Comparable {
    static func < (a: Digest, b: Digest) -> Bool { a.words < b.words }
}
