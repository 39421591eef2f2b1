import Foundation
import SQLiteJournal
import SamovarPeers
public import SamovarWire

/// How a peer reaches its store: the endpoints at which it may be, in the order in which they are tried, and the peer's key.
///
/// ```swift
/// let connector = try Connector(Counter.self, at: .of(dataFolder: ".samovar/counter"), logger: logger)
/// let far = try StoreAccess("tcp://a.example:7410,tcp://b.example:7410", keyFile: "/etc/samovar/shop.key")
/// ```
///
/// Over `ipc` no key is used, and beyond loopback nothing goes without one.
public struct StoreAccess: Hashable, Sendable, CustomStringConvertible {
    /// Where the store may be; at least one.
    public private(set) var endpoints: [Endpoint]
    /// The file with the peer's key and those that the store may have, read again at each attempt to connect; nil for a peer without.
    public let keyFile: String?
    /// Whose store it is, if that was said: sockets have names of their own.
    private var dataFolder: String?

    /// The most endpoints.
    public static let maximumEndpoints = 8

    /// - Throws: `EndpointError` if there are none or too many, or if a peer does not connect to one of them.
    public init(_ endpoints: [Endpoint], keyFile: String? = nil) throws(EndpointError) {
        guard (1...Self.maximumEndpoints).contains(endpoints.count) else {
            throw EndpointError("\(endpoints.count) endpoints; from 1 to \(Self.maximumEndpoints) are possible")
        }
        for endpoint in endpoints { try endpoint.requireConnecting(hasKey: keyFile != nil) }
        self.endpoints = endpoints
        self.keyFile = keyFile
    }

    /// - Parameters:
    ///   - text: endpoints, separated by commas.
    ///   - dataFolder: names the folder of sockets of a store on TCP, for operators without a key.
    /// - Throws: `EndpointError` for a text that is none, and as the other.
    public init(_ text: String, dataFolder: String = ".", keyFile: String? = nil) throws(EndpointError) {
        var endpoints: [Endpoint] = []
        for part in Self.parts(of: text) { endpoints.append(try Endpoint(part, dataFolder: dataFolder)) }
        try self.init(endpoints, keyFile: keyFile)
    }

    /// The store of this data folder, with nothing configured, and those that follow its journal on this machine.
    public static func of(dataFolder: String) -> StoreAccess {
        let folders = (2...maximumEndpoints).map { standbyFolder($0, of: dataFolder) }
        let others = folders.filter { FileManager.default.fileExists(atPath: $0) }
        var access = StoreAccess(local: ([dataFolder] + others).map { .of(dataFolder: $0) })
        access.dataFolder = dataFolder
        return access
    }

    /// The data folder of a further store of the same journal on this machine, from 2 on.
    public static func standbyFolder(_ number: Int, of dataFolder: String) -> String { "\(dataFolder)/standby-\(number)" }

    /// The store that listens there, for its own user.
    public init(folderOf endpoint: Endpoint) { self.init(local: [endpoint]) }

    /// Stores of one journal, likewise.
    ///
    /// - Throws: `EndpointError` if there are none or too many.
    public init(foldersOf endpoints: [Endpoint]) throws(EndpointError) {
        try self.init(endpoints.map { .local(folder: $0.folder) })
    }

    private init(local endpoints: [Endpoint]) {
        self.endpoints = endpoints.map { .local(folder: $0.folder) }
        keyFile = nil
    }

    /// As it is written in a setting.
    public var description: String { endpoints.map(\.description).joined(separator: ",") }

    /// A door of it, for a person, with the data folder if that is how the store was named.
    public func named(_ door: Door) -> String {
        let doors = endpoints.map { $0.address(of: door, hasKey: keyFile != nil) }.joined(separator: ",")
        guard let dataFolder else { return doors }
        let isThere = FileManager.default.fileExists(atPath: dataFolder)
        return "\(doors) of the data folder \(dataFolder)" + (isThere ? "" : ", which does not exist")
    }

    /// What may help where nobody answers, for a person.
    package var advice: String {
        guard let dataFolder, let holder = DataFolder.holder(of: dataFolder) else { return "is it running? start one with `up`" }
        return """
            \(holder) has the folder: it may still be starting, follow a journal that another store has, stand still, be another user's, or \
            have another SAMOVAR_RUNTIME_DIR
            """
    }

    /// Without the places on TCP if there is no key, for operators, who come to those with keys alone; nil if none is left.
    package var forOperators: StoreAccess? {
        guard keyFile == nil else { return self }
        var access = self
        access.endpoints.removeAll { $0.isInsecure }
        return access.endpoints.isEmpty ? nil : access
    }

    /// - Throws: `EndpointError` if a socket's path would be too long.
    package func requireRoom() throws(EndpointError) {
        for endpoint in endpoints where !endpoint.isInsecure { try endpoint.requireRoom() }
    }

    /// The path of a folder may have commas of its own.
    private static func parts(of text: String) -> [String] {
        var parts: [String] = []
        for piece in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            if parts.isEmpty || piece.contains("://") {
                parts.append(String(piece.drop { $0 == " " }))
            } else {
                parts[parts.count - 1] += "," + piece
            }
        }
        return parts
    }

    /// Where to look for a door of the store.
    func plan(for door: Door) -> ConnectionPlan {
        ConnectionPlan(endpoints.map { $0.target(of: door, hasKey: keyFile != nil) })
    }

    /// The key file, if a place of that plan needs it.
    package func keyFile(for door: Door) -> String? {
        let isNeeded = endpoints.contains { $0.address(of: door, hasKey: keyFile != nil).hasPrefix("tcp://") }
        return isNeeded ? keyFile : nil
    }

    /// Reads the key file, as each attempt will.
    ///
    /// - Throws: `KeyFileError` if it is of no use.
    package func requireKey() throws(KeyFileError) {
        if let file = keyFile(for: .front) { _ = try KeyFile.ofPeer(file) }
    }

    /// A place of that plan, as ZeroMQ spells it.
    func address(of place: ConnectionPlan.Place, for door: Door) -> String {
        switch endpoints[place.endpoint].target(of: door, hasKey: keyFile != nil) {
        case .address(let address): address
        case .name: endpoints[place.endpoint].port(of: door, at: place.address)
        }
    }
}
