import MessagePack
import ProcessSupport

/// A process of some user that comes to a door of `ipc` with bytes of ZMTP 3.0 alone, and says what it has to say whether it is let in or not.
struct BareVisitor {
    private let child: Child

    private static let script = """
        import socket, sys, time
        path, kind, what = sys.argv[1:4]
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(5)
        peer.connect(path)
        ready = b"\\x05READY\\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind.encode()
        peer.sendall(b"\\xff" + bytes(8) + b"\\x7f\\x03\\x00NULL" + bytes(16 + 1 + 31) + bytes([4, len(ready)]) + ready)
        heard = b""
        def hear(*wanted):
            global heard
            end = time.monotonic() + 5
            while not any(word in heard for word in wanted) and time.monotonic() < end:
                some = peer.recv(1000)
                if not some: break
                heard += some
        try:
            hear(b"READY", b"ERROR")
            peer.sendall(bytes.fromhex(what))
            hear(b"SMV1")
        except (ConnectionError, TimeoutError):
            pass
        sys.stdout.write("".join(chr(byte) if 32 <= byte < 127 else "." for byte in heard))
        """

    init(_ path: String, _ door: Door, as user: UInt32?, in scratch: Scratch) throws {
        let become = user.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--clear-groups"] } ?? []
        let kind = door == .view ? "SUB" : "DEALER"
        let words = become + ["/usr/bin/python3", "-c", Self.script, path, kind, Self.hex(Self.words(door))]
        child = try Child("/usr/bin/env", words, in: scratch)
    }

    /// All that it has heard, with a dot for what cannot be printed.
    func heard() async throws -> String {
        try await child.wait()
        return child.output
    }

    /// What a peer of that door says first, as frames of ZMTP.
    private static func words(_ door: Door) -> [UInt8] {
        func message(_ frame: RawFrame) -> [UInt8] {
            let parts = frame.parts
            return parts.enumerated().flatMap { [$0.offset + 1 < parts.count ? 1 : 0, UInt8($0.element.count)] + $0.element }
        }
        return switch door {
        case .front: message(RawFrame(.hello, 1, [.nil, 0, "client", .binary(randomID())]))
        case .work: message(RawFrame(.hello, 1, [["Counter", 1], 0, "worker", [.binary(randomID()), 1, ["default"], []]]))
        case .admin: message(RawFrame(.request, 0, [7, "status", .nil]))
        case .view: [0, 11] + [1] + Array("view/main".utf8) + [0]
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
