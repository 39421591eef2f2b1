import CZeroMQ

/// What the other side of a connection is known by: 32 bytes, which anybody may see.
public struct CurvePublicKey: Hashable, Sendable {
    /// Its bytes.
    public let bytes: [UInt8]

    /// How long a key is.
    public static let byteCount = 32
    /// How long a key is in Z85.
    public static let textCount = 40

    /// Nil unless there are 32 bytes.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    /// Nil unless `text` is 40 characters of Z85.
    public init?(z85 text: String) {
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        let isKey = bytes.withUnsafeMutableBytes { bytes in
            var text = text
            return text.withUTF8 { decodeZ85(UnsafeRawBufferPointer($0), into: bytes) }
        }
        guard isKey else { return nil }
        self.bytes = bytes
    }

    /// The key in 40 characters of Z85.
    public var z85: String {
        withSecretBytes(Self.textCount + 1) { text in
            bytes.withUnsafeBytes { encodeZ85($0, into: text) }
            return String(decoding: text.prefix(Self.textCount), as: UTF8.self)
        }
    }
}

extension CurvePublicKey: CustomStringConvertible {
    public var description: String { z85 }
}

/// What proves that a public key is one's own: 32 bytes in memory of their own, which are overwritten when the last holder lets them go.
///
/// It is never printed. libzmq has a copy in each socket that uses it, which is not overwritten.
public final class CurveSecretKey: Sendable {
    // Written by `init` alone.
    private nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

    private init() {
        memory = .allocate(byteCount: CurvePublicKey.byteCount, alignment: 1)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Nil unless `text` is 40 characters of Z85.
    public convenience init?(z85 text: UnsafeRawBufferPointer) {
        self.init()
        guard decodeZ85(text, into: memory) else { return nil }
    }

    deinit {
        overwrite(memory)
        memory.deallocate()
    }

    /// Lends the key in 40 characters of Z85, to be written into a file.
    public func withZ85<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withSecretBytes(CurvePublicKey.textCount + 1) { text throws(Failure) in
            encodeZ85(UnsafeRawBufferPointer(memory), into: text)
            return try body(UnsafeRawBufferPointer(rebasing: text.prefix(CurvePublicKey.textCount)))
        }
    }

    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(memory))
    }
}

extension CurveSecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Does not tell the key.
    public var description: String { "a secret key" }
    /// Does not tell the key.
    public var debugDescription: String { description }
    /// Empty.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A key of CURVE, both halves of it.
public struct CurveKeyPair: Sendable {
    /// What others know.
    public let publicKey: CurvePublicKey
    /// What nobody else must know.
    public let secretKey: CurveSecretKey

    /// A new pair, from the randomness of the system.
    ///
    /// - Throws: ``ZeroMQError`` if libzmq was built without CURVE.
    public init() throws(ZeroMQError) {
        self = try withSecretBytes(CurvePublicKey.textCount + 1) { secret throws(ZeroMQError) in
            try Self.paired(secret, "make a key") { zmq_curve_keypair($0, $1) }
        }
    }

    /// The pair of a secret key.
    ///
    /// - Throws: ``ZeroMQError`` if libzmq was built without CURVE.
    public init(_ secretKey: CurveSecretKey) throws(ZeroMQError) {
        self = try withSecretBytes(CurvePublicKey.textCount + 1) { secret throws(ZeroMQError) in
            secretKey.withZ85 { secret.copyMemory(from: $0) }
            return try Self.paired(secret, "compute a public key") { zmq_curve_public($0, $1) }
        }
    }

    private init(_ publicKey: CurvePublicKey, _ secretKey: CurveSecretKey) {
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    /// - Parameter call: writes a public key, given a secret one or writing one; both end in zero.
    private static func paired(
        _ secret: UnsafeMutableRawBufferPointer, _ operation: String,
        _ call: (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?) -> Int32
    ) throws(ZeroMQError) -> CurveKeyPair {
        let count = CurvePublicKey.textCount
        var publicText = [UInt8](repeating: 0, count: count + 1)
        try checked(operation) {
            publicText.withUnsafeMutableBytes { publicText in
                call(
                    publicText.assumingMemoryBound(to: CChar.self).baseAddress,
                    secret.assumingMemoryBound(to: CChar.self).baseAddress)
            }
        }
        guard let publicKey = CurvePublicKey(z85: String(decoding: publicText.prefix(count), as: UTF8.self)),
            let secretKey = CurveSecretKey(z85: UnsafeRawBufferPointer(rebasing: secret.prefix(count)))
        else { throw ZeroMQError(errno: EINVAL, operation: operation) }
        return CurveKeyPair(publicKey, secretKey)
    }
}

/// False unless `text` is the Z85 of as many bytes.
private func decodeZ85(_ text: UnsafeRawBufferPointer, into bytes: UnsafeMutableRawBufferPointer) -> Bool {
    // libzmq reads up to the first zero.
    guard text.count == bytes.count / 4 * 5, !text.contains(0) else { return false }
    return withSecretBytes(text.count + 1) { terminated in
        terminated.copyMemory(from: text)
        return zmq_z85_decode(bytes.baseAddress, terminated.baseAddress) != nil
    }
}

/// - Parameter text: has room for a zero behind it.
private func encodeZ85(_ bytes: UnsafeRawBufferPointer, into text: UnsafeMutableRawBufferPointer) {
    // Fails only for a number of bytes that is no multiple of four.
    zmq_z85_encode(text.baseAddress, bytes.baseAddress, bytes.count)
}
