internal import Foundation

extension PostgreSQLAddress {
    /// The addresses of one host, each as settings that take the place of its own. The name stays, for the server has to prove it.
    ///
    /// Nothing is looked up of a socket in a folder, of a host whose address is given, and of one that only libpq knows, from a service.
    static func places(
        of host: [String: String], _ lookUp: (String) throws(PostgreSQLError) -> [String]
    ) throws(PostgreSQLError) -> [[String: String]] {
        guard let name = host["host"], let first = name.first, !"/@".contains(first), host["hostaddr", default: ""].isEmpty else {
            return [host]
        }
        var places: [[String: String]] = []
        for address in try lookUp(name) { places.append(host.merging(["hostaddr": address]) { $1 }) }
        guard !places.isEmpty else { throw PostgreSQLError(.lost, "the name \(name) has no address") }
        return places
    }

    /// The addresses of a name, by the resolver of the system and in its order. It takes as long as that does.
    static func lookUp(_ name: String) throws(PostgreSQLError) -> [String] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            throw PostgreSQLError(.lost, "the name \(name) cannot be looked up: \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            guard let address = number(of: entry.pointee), !addresses.contains(address) else { continue }
            addresses.append(address)
        }
        return addresses
    }

    private static func number(of entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
            return nil
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
