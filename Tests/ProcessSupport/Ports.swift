import Foundation
import Synchronization

/// Ports on loopback for stores of tests, below those that the system gives to connections.
public enum Ports {
    public struct NoneFree: Error {}

    private static let given = Mutex<Set<Int>>([])

    /// The first of four free ports in a row: a store with keys has so many.
    public static func free() throws -> Int {
        for _ in 0..<1_000 {
            let port = Int.random(in: 5_000..<8_000) * 4
            guard given.withLock({ $0.insert(port).inserted }) else { continue }
            if (port..<port + 4).allSatisfy(isFree) { return port }
        }
        throw NoneFree()
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        } == 0
    }
}
