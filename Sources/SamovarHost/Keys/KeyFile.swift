import SHA2
package import SamovarCore
package import ZeroMQ

/// A file with a key of CURVE, and what its holder needs beside it:
///
/// ```
/// samovar-key: 1
/// name: render-1
/// public: <40 characters of Z85>
/// secret: <40 characters of Z85>
/// server: <40 characters of Z85: a public key of the store>
/// ```
package struct KeyFile: Sendable {
    package let name: KeyName
    package let pair: CurveKeyPair
    /// The public keys that the store may have: none in the store's own file, and several while its key is renewed.
    package let servers: [CurvePublicKey]

    package static let maximumServers = 8
    private static let maximumBytes = 1 << 16

    package init(_ name: KeyName, _ pair: CurveKeyPair, servers: [CurvePublicKey]) {
        self.name = name
        self.pair = pair
        self.servers = servers
    }

    package var fingerprint: Fingerprint { Fingerprint(of: pair.publicKey) }

    /// Reads the file of a peer, which has at least one `server`.
    package static func ofPeer(_ path: String) throws(KeyFileError) -> KeyFile {
        let file = try KeyFile(path)
        guard !file.servers.isEmpty else {
            throw KeyFileError("\(path) names no server: it is the key of a store, or was cut off. Peers get theirs by `keys new`")
        }
        return file
    }

    /// - Throws: `KeyFileError` if others may have read it, or if it is no such file.
    package init(_ path: String) throws(KeyFileError) {
        try SecretText.requireName(path)
        try SecretProcess.seal()
        self = try PrivateFile.read(path, upTo: Self.maximumBytes) { bytes throws(KeyFileError) in
            try KeyFile(reading: bytes, path)
        }
    }

    init(reading bytes: UnsafeRawBufferPointer, _ path: String) throws(KeyFileError) {
        var fields = KeyFields()
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            if let objection = fields.read(UnsafeRawBufferPointer(rebasing: line)) {
                throw KeyFileError("\(path), line \(index + 1): \(objection)")
            }
        }
        guard let name = fields.name, let publicKey = fields.publicKey, let secretKey = fields.secretKey else {
            throw KeyFileError("\(path) is no key: it needs samovar-key, name, public and secret")
        }
        do throws(ZeroMQError) {
            pair = try CurveKeyPair(secretKey)
        } catch {
            throw KeyFileError("\(path) is of no use: \(error)")
        }
        guard pair.publicKey == publicKey else {
            throw KeyFileError("\(path): its public and its secret key do not belong together")
        }
        guard !Fingerprint(of: publicKey).isPublished, !fields.servers.contains(where: { Fingerprint(of: $0).isPublished }) else {
            throw KeyFileError("\(path) has a key of which everybody knows the secret: it is an example in a manual")
        }
        self.name = name
        servers = fields.servers
    }

    /// Writes the file, for its user alone.
    ///
    /// - Parameter mayReplace: false if there must be none of that name.
    package func write(to path: String, mayReplace: Bool) throws(KeyFileError) {
        let head = Array("samovar-key: 1\nname: \(name)\npublic: \(pair.publicKey.z85)\nsecret: ".utf8)
        let tail = Array(("\n" + servers.map { "server: \($0.z85)\n" }.joined()).utf8)
        try pair.secretKey.withZ85 { secret throws(KeyFileError) in
            try withSecretBytes(head.count + secret.count + tail.count) { bytes throws(KeyFileError) in
                bytes.copyBytes(from: head)
                UnsafeMutableRawBufferPointer(rebasing: bytes[head.count...]).copyBytes(from: secret)
                UnsafeMutableRawBufferPointer(rebasing: bytes[(head.count + secret.count)...]).copyBytes(from: tail)
                try PrivateFile.write(UnsafeRawBufferPointer(bytes), to: path, mayReplace: mayReplace)
            }
        }
    }
}

/// What a file has said so far.
private struct KeyFields {
    var name: KeyName?
    var publicKey: CurvePublicKey?
    var secretKey: CurveSecretKey?
    var servers: [CurvePublicKey] = []
    private var hasBegun = false

    /// Why a line is wrong; nil if it is not.
    mutating func read(_ line: UnsafeRawBufferPointer) -> String? {
        let line = Self.trimmed(line)
        guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        guard colon < line.endIndex else { return "there is no field: one has a name, a colon and a value" }
        let value = Self.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
        let field = String(decoding: line[..<colon], as: UTF8.self)
        guard hasBegun || field == "samovar-key" else { return "it is no key of Samovar: one begins with “samovar-key: 1”" }
        switch field {
        case "samovar-key":
            guard !hasBegun, value.elementsEqual("1".utf8) else { return "this version reads “samovar-key: 1”, once" }
            hasBegun = true
        case "name":
            guard name == nil, let read = KeyName(String(decoding: value, as: UTF8.self)) else {
                return "one name has 1 to 32 letters, digits, “.”, “_” or “-”, and begins with a letter or a digit"
            }
            name = read
        case "public":
            guard publicKey == nil, let read = Self.publicKey(value) else { return "one public key has 40 characters of Z85" }
            publicKey = read
        case "secret":
            guard secretKey == nil, let read = CurveSecretKey(z85: value) else { return "one secret key has 40 characters of Z85" }
            secretKey = read
        case "server":
            guard servers.count < KeyFile.maximumServers, let read = Self.publicKey(value) else {
                return "a server is a public key, which has 40 characters of Z85; at most \(KeyFile.maximumServers) of them"
            }
            servers.append(read)
        default: return "there is no such field; there are name, public, secret and server"
        }
        return nil
    }

    private static func publicKey(_ value: UnsafeRawBufferPointer) -> CurvePublicKey? {
        // A secret in the wrong place must not come into a text that nobody overwrites, but then the file has it as public.
        CurvePublicKey(z85: String(decoding: value, as: UTF8.self))
    }

    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        func isSpace(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
        }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) }) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(rebasing: bytes[first...last])
    }
}

// MARK: - Fingerprints

extension Fingerprint {
    /// The first half of the SHA-256 of its bytes.
    package init(of key: CurvePublicKey) {
        var hash = SHA256()
        key.bytes.withUnsafeBytes { hash.update($0) }
        let words = hash.finalize().prefix(Self.byteCount)
        self.init(high: words.prefix(8).bigEndian, low: words.dropFirst(8).bigEndian)
    }

    /// Whether the secret of the key stands in a manual, from which somebody may have copied it.
    var isPublished: Bool { Self.published.contains(description) }

    private static let published: Set<String> = [
        // zmq_curve(7), "Test key values": of the client and of the server. Most examples and tests for libzmq use these.
        "ebb3af4dd99ceff36e9f90b5db3e450e", "522501f4e7a63f61dd776d7ed6829104",
        // RFC 7748, 6.1: of Alice and of Bob, which are those of NaCl, too.
        "300c9c9603b92a4b39ed3958bf924011", "f35e5616160a30bf3c6e79fa73c576d4",
        // Of 32 zeros.
        "66687aadf862bd776c8fc18b8e9f8e20",
    ]
}
