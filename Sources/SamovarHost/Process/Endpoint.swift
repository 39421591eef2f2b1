import Foundation
import SamovarCore
import SamovarPeers
import SamovarWire

/// Where a store is reached: a folder of `ipc` sockets, or four ports of a machine.
///
/// `ipc:///run/user/1000/samovar/6f1c0d528f5e4b0e` stands for the four sockets in that folder; `tcp://10.0.0.5:7410` for the ports 7410
/// (front), 7411 (work), 7412 (view) and 7413 (admin). A store with ports is there for its own user in a folder as well. The port of
/// operators needs keys, and so does everything beyond loopback.
public enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// Sockets in a folder, for the same user.
    case local(folder: String)
    /// Ports in a row, and the folder where the same store is there for its own user.
    case tcp(host: NetworkHost, port: Int, folder: String)

    /// The first port of an endpoint that names none.
    public static let defaultPort = 7_410
    /// Those above are given to connections: one that a peer on the store's machine opens could come out at the store's port, and meet
    /// itself.
    private static let maximumPort = 32_767

    /// The endpoint of the store that uses this data folder, with nothing configured: a folder that only this user can enter.
    public static func of(dataFolder: String) -> Endpoint {
        .local(folder: runtimeFolder(of: dataFolder))
    }

    /// What the text says. Whether anybody may listen or connect there is another question: `requireListening(hasKeys:allowsInsecure:)`,
    /// ``StoreAccess``.
    ///
    /// - Parameter dataFolder: names the folder of a store with ports.
    /// - Throws: `EndpointError` for a text that is no endpoint.
    public init(_ text: String, dataFolder: String) throws(EndpointError) {
        guard text.components(separatedBy: "://").count < 3 else {
            throw EndpointError("\(text) names several endpoints: a store listens at one, and a list is for those who connect")
        }
        if text.hasPrefix("ipc://") {
            let folder = String(text.dropFirst("ipc://".count))
            guard folder.hasPrefix("/") else { throw EndpointError("\(text) is no endpoint: ipc:// needs an absolute folder") }
            self = .local(folder: folder)
            return
        }
        guard text.hasPrefix("tcp://") else {
            throw EndpointError("\(text) is no endpoint: write ipc:///FOLDER or tcp://HOST:PORT")
        }
        let (hostText, portText) = Self.parts(text.dropFirst("tcp://".count))
        guard let host = NetworkHost(hostText) else {
            throw EndpointError(
                "\(text) names no host: write an IPv4 address, an IPv6 address in brackets such as tcp://[::1]:7410, or a name")
        }
        let last = Self.environment("SAMOVAR_ANY_PORT") == nil ? Self.maximumPort : 65_535
        let first = last - Self.offset(of: .admin)
        guard let port = portText.map({ Int($0) }) ?? Self.defaultPort, (1...first).contains(port) else {
            throw EndpointError(
                "\(text) has no port between 1 and \(first): a store takes four in a row, and those above \(last) are for connections"
            )
        }
        self = .tcp(host: host, port: port, folder: Self.runtimeFolder(of: dataFolder))
    }

    /// The colons of an IPv6 address stand in brackets.
    private static func parts(_ text: Substring) -> (host: String, port: Substring?) {
        let end = text.hasPrefix("[") ? text.firstIndex(of: "]").map { text.index(after: $0) } ?? text.endIndex : text.startIndex
        guard let colon = text[end...].lastIndex(of: ":") else { return (String(text), nil) }
        return (String(text[..<colon]), text[text.index(after: colon)...])
    }

    private static func offset(of door: Door) -> Int { Door.allCases.firstIndex(of: door) ?? 0 }

    /// Where a store is reached, as ZeroMQ spells it: at its port if it has any, else in its folder.
    func address(of door: Door) -> String {
        guard case .tcp(let host, _, _) = self else { return file(of: door) }
        return port(of: door, at: "\(host)")
    }

    /// Where a peer connects, with a name if it has one. Without keys, operators come in by the folder alone.
    func address(of door: Door, hasKey: Bool) -> String { door == .admin && !hasKey ? file(of: door) : address(of: door) }

    /// The same for a plan, which has a name looked up.
    func target(of door: Door, hasKey: Bool) -> ConnectionPlan.Target {
        if case .tcp(.name(let name), _, _) = self, door != .admin || hasKey { return .name(name) }
        return .address(address(of: door, hasKey: hasKey))
    }

    func file(of door: Door) -> String { "ipc://\(folder)/\(door.rawValue)" }

    /// The address of a door at a host, which is one of those that the endpoint's name stands for.
    func port(of door: Door, at host: String) -> String {
        switch self {
        case .local: file(of: door)
        case .tcp(_, let port, _): "tcp://\(host):\(port + Self.offset(of: door))"
        }
    }

    /// The address for clients.
    public var front: String { address(of: .front) }
    /// The address for workers.
    public var work: String { address(of: .work) }
    /// The address for subscribers.
    public var view: String { address(of: .view) }
    /// The address for operators of the same user.
    public var admin: String { file(of: .admin) }

    /// Whether it has ports, by which every user of the machine gets in if there are no keys.
    public var isInsecure: Bool {
        if case .tcp = self { true } else { false }
    }

    /// Whether nobody but users of this machine can be there.
    package var isOnLoopback: Bool {
        if case .tcp(let host, _, _) = self { host.isLoopback } else { true }
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

    /// A short name, since the path of an `ipc` socket has at most 107 bytes: a hash over the data folder's absolute path.
    private static func runtimeFolder(of dataFolder: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in absolute(dataFolder).utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return runtimeBase + "/" + hexadecimal(hash)
    }

    private static var runtimeBase: String {
        if let folder = environment("SAMOVAR_RUNTIME_DIR") {
            // Its links stay, for whoever trusts the folder looks at each.
            return folder.hasPrefix("/") ? folder : "\(FileManager.default.currentDirectoryPath)/\(folder)"
        }
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
        let parent = (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
        return absolute(parent.isEmpty ? "." : parent) + "/" + last
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

    func requireRoom() throws(EndpointError) {
        // The byte behind a path is its end.
        let limit = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        let path = "\(folder)/\(Door.front.rawValue)"
        guard path.utf8.count > limit else { return }
        throw EndpointError(
            "\(path): a socket's path has at most \(limit) bytes, and this one \(path.utf8.count): take a shorter SAMOVAR_RUNTIME_DIR or ipc:// folder"
        )
    }

    /// Removes the socket files of a store that ends.
    func removeFiles() {
        for door in Door.allCases { unlink("\(folder)/\(door.rawValue)") }
        rmdir(folder)
    }
}

// MARK: - Who may be there

extension Endpoint {
    /// - Throws: why a store does not listen there, and what to do.
    package func requireListening(hasKeys: Bool, allowsInsecure: Bool) throws(EndpointError) {
        try requireRoom()
        guard case .tcp(let host, _, _) = self else { return }
        if case .name = host {
            throw EndpointError(
                "\(self): a store listens at an address of its machine, and a name is for those who connect: write the address, or "
                    + "tcp://*:PORT for all of them")
        }
        if hasKeys { return }
        guard host.isLoopback else {
            throw EndpointError(
                "\(self) is beyond loopback, where anybody could send: a store listens there only with keys; make them with `keys`, and "
                    + "name their folder with --keys (keys: FOLDER in a file, SAMOVAR_KEYS=FOLDER)")
        }
        if !allowsInsecure {
            throw EndpointError(
                "\(self) is open to every user of this machine, since there are no keys: use ipc, or allow it with --insecure-tcp "
                    + "(insecureTcp: true in a file, SAMOVAR_INSECURE_TCP=true)")
        }
    }

    /// - Throws: why a peer does not connect there, and what to do.
    func requireConnecting(hasKey: Bool) throws(EndpointError) {
        guard case .tcp(let host, _, _) = self else { return }
        if case .any = host {
            throw EndpointError("\(self) stands for all addresses of a machine, where a store may listen: connect to one of them")
        }
        guard hasKey || host.isLoopback else {
            throw EndpointError(
                "\(self) is beyond loopback, where anybody could answer: connect there with a key, --key FILE (key: FILE in a file, "
                    + "SAMOVAR_KEY=FILE)")
        }
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
