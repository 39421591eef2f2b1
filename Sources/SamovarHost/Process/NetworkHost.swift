import Foundation

/// The machine of a `tcp` endpoint.
public enum NetworkHost: Hashable, Sendable, CustomStringConvertible {
    /// One address, as ZeroMQ spells it: of IPv4, or of IPv6 in brackets.
    case address(String)
    /// A name, looked up at each attempt to connect. `localhost` is none, but 127.0.0.1.
    case name(String)
    /// All addresses of a machine: `*` and `0.0.0.0` are those of IPv4, `[::]` those of IPv6 as well. Only a store can be there.
    case any(String)

    /// Nil for what is no host.
    init?(_ text: String) {
        if text == "*" || text == "0.0.0.0" {
            self = .any(text)
        } else if text == "localhost" {
            self = .address("127.0.0.1")
        } else if text.hasPrefix("["), text.hasSuffix("]") {
            guard let address = Self.addressOfIPv6(text.dropFirst().dropLast()) else { return nil }
            self = address == "[::]" ? .any(address) : .address(address)
        } else if Self.isIPv4(text) {
            self = .address(text)
        } else if Self.isName(text) {
            self = .name(text)
        } else {
            return nil
        }
    }

    /// Whether it is this machine's own, and no other can take its place: by its number, for names are not looked up for this.
    var isLoopback: Bool {
        if case .address(let text) = self { text == "[::1]" || text.hasPrefix("127.") } else { false }
    }

    /// As it is written in an endpoint.
    public var description: String {
        switch self {
        case .address(let text), .name(let text), .any(let text): text
        }
    }

    private static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1
    }

    /// In the shortest spelling; an address of one link keeps the name of its interface.
    private static func addressOfIPv6(_ text: Substring) -> String? {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var address = in6_addr()
        guard let number = parts.first, inet_pton(AF_INET6, String(number), &address) == 1 else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard let shortest = inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) else { return nil }
        guard parts.count == 2 else { return "[\(String(cString: shortest))]" }
        guard (1...15).contains(parts[1].utf8.count), parts[1].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            return nil
        }
        return "[\(String(cString: shortest))%\(parts[1])]"
    }

    /// Labels of letters, digits, hyphens and underscores. The last one is no number, for what ends in one the system takes for an address
    /// in an old spelling: `127.1`, `0x7f000001`.
    private static func isName(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        var labels = text.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count > 1, labels.last == "" { labels.removeLast() }
        guard let last = labels.last, Int(last) == nil, !last.lowercased().hasPrefix("0x") else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-" || $0 == "_" }
        }
    }
}
