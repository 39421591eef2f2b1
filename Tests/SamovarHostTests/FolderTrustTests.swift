import Foundation
import Testing

@testable import SamovarHost

/// Who decides what is at a path, by what the system says of each name on it.
struct FolderTrustTests {
    private static let user: UInt32 = 1_000
    private static let other: UInt32 = 1_001

    private static func folder(_ owner: UInt32, _ mode: UInt32) -> FolderTrust.Look {
        .found(PathFacts(kind: .folder, owner: owner, mode: mode))
    }

    private static func link(_ owner: UInt32, _ target: String) -> FolderTrust.Look {
        .found(PathFacts(kind: .link(to: target), owner: owner, mode: 0o777))
    }

    private static let usual: [String: FolderTrust.Look] = [
        "/": folder(0, 0o755), "/tmp": folder(0, 0o1777), "/run": folder(0, 0o755), "/run/user": folder(0, 0o755),
        "/run/user/1000": folder(user, 0o700),
    ]

    private func verdict(_ path: String, _ more: [String: FolderTrust.Look] = [:]) -> FolderTrust.Verdict {
        let names = Self.usual.merging(more) { $1 }
        return FolderTrust(user: Self.user).verdict(on: path) { names[$0] ?? .missing }
    }

    @Test func `A folder is trusted if only its user and root decide what is there`() {
        #expect(verdict("/run/user/1000") == .trusted)
        #expect(verdict("/run/user/1000/") == .trusted)
        #expect(verdict("/run/user/1000/s", ["/run/user/1000/s": Self.folder(Self.user, 0o755)]) == .trusted)
        #expect(verdict("/tmp/samovar-1000", ["/tmp/samovar-1000": Self.folder(Self.user, 0o700)]) == .trusted)
        #expect(verdict("/tmp/../run/./user/1000") == .trusted)
    }

    @Test func `What is missing is named`() {
        #expect(verdict("/tmp/samovar-1000/ab/c") == .missing("/tmp/samovar-1000"))
        #expect(verdict("/run/user/1000/samovar") == .missing("/run/user/1000/samovar"))
    }

    @Test func `A folder that another user made first is refused, also on the way`() {
        let text = "/tmp/samovar-1000 belongs to another user (1001), who could answer in the place of a store"
        for mode: UInt32 in [0o700, 0o755, 0o777, 0o1777] {
            let taken = ["/tmp/samovar-1000": Self.folder(Self.other, mode)]
            #expect(verdict("/tmp/samovar-1000", taken) == .refused(text))
            #expect(verdict("/tmp/samovar-1000/ab", taken) == .refused(text))
            let mine = taken.merging(["/tmp/samovar-1000/ab": Self.folder(Self.user, 0o700)]) { $1 }
            #expect(verdict("/tmp/samovar-1000/ab", mine) == .refused(text))
        }
    }

    @Test func `A folder on the way in which others may rename things is refused`() {
        for (owner, mode) in [(0, 0o777), (Self.user, 0o777), (Self.user, 0o770), (0, 0o2775)] as [(UInt32, UInt32)] {
            let names = ["/run/s": Self.folder(owner, mode), "/run/s/x": Self.folder(Self.user, 0o700)]
            #expect(verdict("/run/s/x", names) == .refused("/run/s can be changed by others (mode \(String(mode, radix: 8)))"))
        }
    }

    @Test func `The user's own folder that others may write in can be mended, one for all cannot`() {
        #expect(verdict("/run/s", ["/run/s": Self.folder(Self.user, 0o777)]) == .shared("/run/s"))
        #expect(verdict("/run/s", ["/run/s": Self.folder(Self.user, 0o1777)]) == .refused("/run/s is a folder of all users"))
        #expect(verdict("/tmp") == .refused("/tmp belongs to root"))
        #expect(verdict("/") == .refused("/ belongs to root"))
    }

    @Test func `A symbolic link is followed only from where nobody else can make one`() {
        let target = ["/run/user/1000/s": Self.folder(Self.user, 0o700)]
        #expect(verdict("/var/s", target.merging(["/var": Self.link(0, "run/user/1000")]) { $1 }) == .trusted)
        #expect(verdict("/var/s", target.merging(["/var": Self.link(0, "/run/user/1000")]) { $1 }) == .trusted)
        #expect(verdict("/run/user/1000/l/s", target.merging(["/run/user/1000/l": Self.link(Self.user, ".")]) { $1 }) == .trusted)
        #expect(
            verdict("/tmp/l/s", target.merging(["/tmp/l": Self.link(Self.user, "/run/user/1000")]) { $1 })
                == .refused("/tmp/l is a symbolic link in a folder where others can write"))
        #expect(
            verdict("/tmp/l/s", target.merging(["/tmp/l": Self.link(Self.other, "/run/user/1000")]) { $1 })
                == .refused("/tmp/l belongs to another user (1001), who could answer in the place of a store"))
        // Where it leads is looked at, too.
        #expect(
            verdict("/var/x", ["/var": Self.link(0, "/tmp"), "/tmp/x": Self.folder(Self.other, 0o700)])
                == .refused("/tmp/x belongs to another user (1001), who could answer in the place of a store"))
        #expect(verdict("/a", ["/a": Self.link(0, "b"), "/b": Self.link(0, "a")]) == .refused("/a leads from link to link"))
    }

    @Test func `What cannot be looked at, and what is no folder, is refused with the reason`() {
        #expect(
            verdict("/run/x/y", ["/run/x": Self.folder(Self.user, 0o600), "/run/x/y": .failed("Permission denied")])
                == .refused("/run/x/y cannot be looked at: Permission denied"))
        let file = FolderTrust.Look.found(PathFacts(kind: .other, owner: Self.user, mode: 0o600))
        #expect(verdict("/run/f/x", ["/run/f": file]) == .refused("/run/f is no folder"))
    }

    /// With real folders.
    @Test func `A store makes its folder, and a peer looks at it`() throws {
        let base = "/tmp/samovar-trust-\(getpid())-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: base) }
        let address = "ipc://\(base)/a/b/front"
        #expect(try SocketFolder.checked(address) == "ipc:///dev/null/none", "somebody else may still make it")
        try SocketFolder.make(base + "/a/b")
        #expect(SocketFolder.verdict(on: base + "/a/b") == .trusted)
        #expect(try SocketFolder.checked(address) == address)

        #expect(chmod(base + "/a", 0o777) == 0)
        #expect(throws: EndpointError.self) { try SocketFolder.checked(address) }
        #expect(throws: EndpointError.self) { try SocketFolder.make(base + "/a/b") }
        #expect(chmod(base + "/a", 0o755) == 0)
        #expect(chmod(base + "/a/b", 0o777) == 0)
        let open = #expect(throws: EndpointError.self) { try SocketFolder.checked(address) }
        #expect(open?.description.contains("protect it with chmod 700") == true)
        try SocketFolder.make(base + "/a/b")
        #expect(SocketFolder.verdict(on: base + "/a/b") == .trusted, "the store has protected it")
        #expect(throws: EndpointError.self) { try SocketFolder.make("/dev/null/x") }
        #if os(Linux)
        let refused = #expect(throws: EndpointError.self) { try SocketFolder.make("/proc/x") }
        #expect(refused?.description.hasPrefix("cannot make the folder /proc/x for sockets: ") == true)
        #endif
    }

    @Test func `A folder for keys may be root's, or one of all users, where each file is of its own user`() {
        func verdict(_ path: String, _ more: [String: FolderTrust.Look] = [:]) -> FolderTrust.Verdict {
            let names = Self.usual.merging(more) { $1 }
            return FolderTrust(user: Self.user, use: .secrets).verdict(on: path) { names[$0] ?? .missing }
        }
        #expect(verdict("/run") == .trusted)
        #expect(verdict("/tmp") == .trusted)
        #expect(verdict("/run/user/1000") == .trusted)
        #expect(verdict("/run/user/1000", ["/run/user/1000": Self.folder(Self.user, 0o770)]) == .shared("/run/user/1000"))
        #expect(verdict("/run", ["/run": Self.folder(0, 0o775)]) == .refused("/run can be changed by others (mode 775)"))
        #expect(
            verdict("/tmp/k", ["/tmp/k": Self.folder(Self.other, 0o700)])
                == .refused("/tmp/k belongs to another user (1001), who could put other keys there"))
    }
}
