#if canImport(CryptoKit)
import CryptoKit
#else
import CCrypto
#endif

/// SHA-256 of bytes that come piece by piece, computed by the library of the system.
public struct SHA256: Sendable {
    /// How long a digest is.
    public static let byteCount = 32

    #if canImport(CryptoKit)
    private var hash = CryptoKit.SHA256()
    #else
    // Neither this nor what follows can fail: each of the three returns 1, whatever it is given.
    private var context = SHA256_CTX()
    #endif

    public init() {
        #if !canImport(CryptoKit)
        SHA256_Init(&context)
        #endif
    }

    /// Adds bytes behind those that were added before.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        #if canImport(CryptoKit)
        hash.update(bufferPointer: bytes)
        #else
        SHA256_Update(&context, bytes.baseAddress, bytes.count)
        #endif
    }

    /// The digest of all bytes that were added.
    public consuming func finalize() -> [UInt8] {
        #if canImport(CryptoKit)
        Array(hash.finalize())
        #else
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { digest, count in
            SHA256_Final(digest.baseAddress, &context)
            count = Self.byteCount
        }
        #endif
    }
}
