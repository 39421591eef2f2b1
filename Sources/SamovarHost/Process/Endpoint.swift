import Foundation
import SamovarCore

/// Where a store is reached: a folder of `ipc` sockets, or a range of TCP ports on loopback, which every user of the machine can reach.
///
/// `ipc:///run/user/1000/samovar/6f1c0d528f5e4b0e` stands for the four sockets in that folder; `tcp://127.0.0.1:7700` for
/// ports 7700 (front), 7701 (work) and 7702 (view). The admin socket is always `ipc`.
public enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// Sockets in a folder, for the same user.
    case local(folder: String)
    /// Ports on loopback, and a folder for the admin socket.
    case tcp(host: String, port: Int, adminFolder: String)

    /// The endpoint of the store that uses this data folder, with nothing configured: a folder that only this user can enter.
    public static func of(dataFolder: String) -> Endpoint {
        .local(folder: runtimeFolder(of: dataFolder))
    }

    /// - Parameter dataFolder: names the folder of the admin socket of a store on TCP.
    /// - Throws: `EndpointError` for a text that is no endpoint, or for TCP beyond loopback.
    public init(_ text: String, dataFolder: String) throws(EndpointError) {
        if text.hasPrefix("ipc://") {
            let folder = String(text.dropFirst("ipc://".count))
            guard folder.hasPrefix("/") else { throw EndpointError("\(text) is no endpoint: ipc:// needs an absolute folder") }
            self = .local(folder: folder)
            return
        }
        guard text.hasPrefix("tcp://"), let colon = text.lastIndex(of: ":") else {
            throw EndpointError("\(text) is no endpoint: write ipc:///FOLDER or tcp://HOST:PORT")
        }
        let host = String(text[text.index(text.startIndex, offsetBy: 6)..<colon])
        guard let port = Int(text[text.index(after: colon)...]), (1...65_533).contains(port) else {
            throw EndpointError("\(text) has no port between 1 and 65533")
        }
        guard let loopback = Self.loopback(host) else {
            throw EndpointError(
                "\(text) is beyond loopback, where anybody could send: Samovar does not listen or connect there without keys")
        }
        self = .tcp(host: loopback, port: port, adminFolder: Self.runtimeFolder(of: dataFolder))
    }

    /// The host as ZeroMQ takes it, if it is this machine's own: `localhost`, an IPv4 address of four numbers in 127.0.0.0/8, or the
    /// IPv6 address ::1 in brackets, however it is written. Names are never looked up.
    private static func loopback(_ host: String) -> String? {
        if host == "localhost" { return "127.0.0.1" }
        if host.hasPrefix("["), host.hasSuffix("]") {
            var address = in6_addr()
            guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else { return nil }
            let bytes = withUnsafeBytes(of: &address) { Array($0) }
            return bytes == [UInt8](repeating: 0, count: 15) + [1] ? "[::1]" : nil
        }
        var address = in_addr()
        guard inet_pton(AF_INET, host, &address) == 1 else { return nil }
        return withUnsafeBytes(of: &address) { $0.first } == 127 ? host : nil
    }

    /// The address for clients.
    public var front: String { address("front", offset: 0) }
    /// The address for workers.
    public var work: String { address("work", offset: 1) }
    /// The address for subscribers.
    public var view: String { address("view", offset: 2) }

    /// The address for operators, which is always a file.
    public var admin: String { "ipc://\(folder)/admin" }

    /// Whether other users of the machine get in: TCP has no keys yet, and no permissions.
    public var isInsecure: Bool {
        if case .tcp = self { true } else { false }
    }

    /// Why nobody listens there unless that was asked for, and how to ask.
    package var insecurity: String {
        "\(self) is open to every user of this machine, since there are no keys: use ipc, or allow it with --insecure-tcp "
            + "(insecureTcp: true in a file, SAMOVAR_INSECURE_TCP=true)"
    }

    /// The folder of the `ipc` sockets.
    public var folder: String {
        switch self {
        case .local(let folder), .tcp(_, _, let folder): folder
        }
    }

    /// As it is written in a setting.
    public var description: String {
        switch self {
        case .local(let folder): "ipc://\(folder)"
        case .tcp(let host, let port, _): "tcp://\(host):\(port)"
        }
    }

    private func address(_ name: String, offset: Int) -> String {
        switch self {
        case .local(let folder): "ipc://\(folder)/\(name)"
        case .tcp(let host, let port, _): "tcp://\(host):\(port + offset)"
        }
    }

    /// A short name, since the path of an `ipc` socket has at most 107 bytes: a hash over the data folder's absolute path.
    private static func runtimeFolder(of dataFolder: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in absolute(dataFolder).utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return runtimeBase + "/" + hexadecimal(hash)
    }

    private static var runtimeBase: String {
        if let folder = environment("SAMOVAR_RUNTIME_DIR") { return folder }
        // After `su`, it may be the folder of another user.
        if let folder = environment("XDG_RUNTIME_DIR"), folder.hasPrefix("/"), SocketFolder.verdict(on: folder) == .trusted {
            return folder + "/samovar"
        }
        return "/tmp/samovar-\(getuid())"
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The absolute path without `.`, `..` and symbolic links, as far as the folder exists.
    private static func absolute(_ path: String) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        // A working directory that was removed has no path.
        if path == "." { return path }
        var parts = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        guard let last = parts.popLast() else { return "/" }
        let parent =
            parts.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
        return absolute(parent) + "/" + last
    }

    /// Refuses a folder that peers would refuse, before anything is started, and protects one that others may write in.
    ///
    /// - Throws: `EndpointError`.
    package func prepareFolder() throws(EndpointError) {
        switch SocketFolder.verdict(on: folder) {
        case .trusted, .missing: break
        case .shared, .refused: try SocketFolder.make(folder)
        }
    }

    /// Removes the socket files of a store that ends.
    func removeFiles() {
        for name in ["front", "work", "view", "admin"] { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }
}

/// A text that is no endpoint, or one that is refused.
public struct EndpointError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Why, in a sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
