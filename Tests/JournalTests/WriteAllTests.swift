import Foundation
import Journal
import Testing

/// What becomes of bytes of which the system writes a part.
@Suite struct WriteAllTests {
    private static let bytes = Array("0123456789".utf8)

    @Test func `What is left of a part goes on where that ends, also after a signal`() {
        var written: [UInt8] = []
        var calls = 0
        let result = writeAll(Self.bytes) { rest, done in
            #expect(done == written.count)
            calls += 1
            if calls == 2 {
                errno = EINTR
                return -1
            }
            written += rest.prefix(4)
            return min(4, rest.count)
        }
        #expect(result == 0)
        #expect(written == Self.bytes)
    }

    @Test(arguments: [(ENOSPC, -1, ENOSPC), (EFBIG, -1, EFBIG), (0, 0, EIO)] as [(CInt, Int, CInt)])
    func `The reason is that of the call that wrote nothing`(_ system: CInt, _ answer: Int, _ reason: CInt) {
        let result = writeAll(Self.bytes) { _, done in
            guard done > 0 else { return 4 }
            errno = system
            return answer
        }
        let found = errno
        #expect(found == reason)
        #expect(result == -1)
    }

    @Test func `A file has all of them, at their place`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "write-\(UUID().uuidString)").path()
        // What cannot be removed is left to the system.
        defer { try? FileManager.default.removeItem(atPath: path) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        #expect(writeAll(Self.bytes, at: 2, of: descriptor) == 0)
        close(descriptor)
        #expect(FileManager.default.contents(atPath: path) == Data([0, 0] + Self.bytes))
    }
}
