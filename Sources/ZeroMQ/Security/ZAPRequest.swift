/// Somebody wants to connect.
public struct ZAPRequest: Hashable, Sendable {
    /// What somebody has proven about itself.
    public enum Credentials: Hashable, Sendable {
        /// Nothing: a connection over TCP without keys.
        case none
        /// The user of the process, as the kernel says: a connection over `ipc`.
        case user(UInt32)
        /// That it has the secret of this key.
        case key(CurvePublicKey)
    }

    /// Where it comes from: the number of a host, or `localhost` and the user.
    public let address: String
    /// Who it is.
    public let credentials: Credentials
}

/// Whether somebody may connect.
public enum ZAPVerdict: Hashable, Sendable {
    /// Yes, and all messages of this connection have this ``MultipartMessage/userID``, which must not be empty.
    case accept(userID: String)
    /// No. The other side is told so.
    case refuse
}

/// A request as libzmq makes it (https://rfc.zeromq.org/spec/27/), with the way back to the connection.
struct ZAPEnvelope {
    /// The routing id of the connection, and an empty frame.
    let route: [[UInt8]]
    let id: [UInt8]
    /// The name of the domain, also if the rest is nothing that can be granted.
    let domain: String
    /// Nil for a mechanism that is never granted, and for what libzmq does not send.
    let request: ZAPRequest?

    static let version = Array("1.0".utf8)

    /// Nil if there is no way back.
    init?(_ frames: [[UInt8]]) {
        guard frames.count >= 4, frames[1].isEmpty else { return nil }
        route = Array(frames[..<2])
        id = frames[3]
        guard frames.count >= 8, frames[2] == Self.version else {
            domain = ""
            request = nil
            return
        }
        let texts = frames[4...].map { String(decoding: $0, as: UTF8.self) }
        domain = texts[0]
        // texts[2] is what the other side would like to be called.
        let credentials = Self.credentials(address: texts[1], mechanism: texts[3], Array(frames[8...]))
        let address = texts[1].split(separator: ":").prefix(2).joined(separator: ":")
        request = credentials.map {
            ZAPRequest(address: texts[1].hasPrefix("localhost:") ? address : texts[1], credentials: $0)
        }
    }

    private static func credentials(
        address: String, mechanism: String, _ frames: [[UInt8]]
    ) -> ZAPRequest.Credentials? {
        switch (mechanism, frames.count) {
        case ("NULL", 0):
            // Of a peer over `ipc` libzmq tells `localhost:UID:GID:PID`, of others the number of their host.
            guard address.hasPrefix("localhost:") else { return ZAPRequest.Credentials.none }
            return address.split(separator: ":", omittingEmptySubsequences: false).dropFirst().first
                .flatMap { UInt32($0) }.map { .user($0) }
        case ("CURVE", 1): return CurvePublicKey(frames[0]).map { .key($0) }
        default: return nil
        }
    }

    func answer(_ verdict: ZAPVerdict) -> [[UInt8]] {
        let (code, text, userID) =
            switch verdict {
            // Without a name, what the other side claims to be called would reach the application.
            case .accept(let userID) where userID.isEmpty: ("300", "no user id", "")
            case .accept(let userID): ("200", "OK", userID)
            case .refuse: ("400", "refused", "")
            }
        return route + [Self.version, id] + [code, text, userID, ""].map { Array($0.utf8) }
    }
}
