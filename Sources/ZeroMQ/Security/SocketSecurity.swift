import CZeroMQ

extension SocketOptions {
    /// Who gets a connection to a socket, and whether anybody can read along.
    public enum Security: Sendable {
        /// Everybody, and everybody. For connecting sockets, and for those within a process.
        case none
        /// Whom the authenticator lets in, by the user of an `ipc` connection; nothing is encrypted.
        case authenticated(Authenticator)
        /// Whoever has a key that the authenticator lets in. Others prove to this secret key that they know its public one.
        case curveServer(CurveSecretKey, Authenticator)
        /// A connecting socket, which has this key and goes to whoever has the secret of the other one.
        case curveClient(CurveKeyPair, server: CurvePublicKey)

        var authenticator: Authenticator? {
            switch self {
            case .authenticated(let authenticator), .curveServer(_, let authenticator): authenticator
            case .none, .curveClient: nil
            }
        }
    }
}

extension SocketOptions.Security {
    /// Without it, libzmq lets everybody in when nobody answers for the domain. The header has it only for builds with drafts, but the
    /// library has it in each: 4.3.4 and those behind it.
    private static var enforceDomain: Int32 { 93 }

    func apply(to socket: UnsafeMutableRawPointer) throws(ZeroMQError) {
        switch self {
        case .none: return
        case .authenticated(let authenticator): try Self.setDomain(authenticator.domain, of: socket)
        case .curveServer(let secretKey, let authenticator):
            try set("ZMQ_CURVE_SERVER", ZMQ_CURVE_SERVER, to: Int32(1), of: socket)
            try Self.setSecret(secretKey, of: socket)
            try Self.setDomain(authenticator.domain, of: socket)
            try Self.requireCurve(socket)
        case .curveClient(let own, let server):
            try Self.setKey("ZMQ_CURVE_PUBLICKEY", ZMQ_CURVE_PUBLICKEY, own.publicKey, of: socket)
            try Self.setSecret(own.secretKey, of: socket)
            try Self.setKey("ZMQ_CURVE_SERVERKEY", ZMQ_CURVE_SERVERKEY, server, of: socket)
            try Self.requireCurve(socket)
        }
    }

    private static func setDomain(_ domain: String, of socket: UnsafeMutableRawPointer) throws(ZeroMQError) {
        try checked("set ZMQ_ZAP_DOMAIN") { zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, domain.utf8.count) }
        try set("ZMQ_ZAP_ENFORCE_DOMAIN", enforceDomain, to: Int32(1), of: socket)
    }

    private static func setSecret(_ key: CurveSecretKey, of socket: UnsafeMutableRawPointer) throws(ZeroMQError) {
        try key.withBytes { bytes throws(ZeroMQError) in
            try checked("set ZMQ_CURVE_SECRETKEY") { zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, bytes.baseAddress, bytes.count) }
        }
    }

    private static func setKey(
        _ name: String, _ option: Int32, _ key: CurvePublicKey, of socket: UnsafeMutableRawPointer
    ) throws(ZeroMQError) {
        try checked("set \(name)") { zmq_setsockopt(socket, option, key.bytes, key.bytes.count) }
    }

    /// What was set above has made it so, unless this libzmq knows no CURVE.
    private static func requireCurve(_ socket: UnsafeMutableRawPointer) throws(ZeroMQError) {
        var mechanism: Int32 = 0
        var size = MemoryLayout<Int32>.size
        try checked("read ZMQ_MECHANISM") { zmq_getsockopt(socket, ZMQ_MECHANISM, &mechanism, &size) }
        guard mechanism == ZMQ_CURVE else {
            throw ZeroMQError(.optionMismatch, operation: "set ZMQ_MECHANISM", reason: "it is \(mechanism) instead of CURVE")
        }
    }
}
