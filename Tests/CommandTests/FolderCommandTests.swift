import Foundation
import ProcessSupport
import Testing

/// Where a store may keep its data and its sockets, and what is said where it may not.
@Suite struct FolderCommandTests {
    #if os(Linux)
    @Test func `A data folder that cannot be made ends the store with a sentence`() async throws {
        let scratch = try Scratch()
        let store = try Child(Executable.counter, ["store", "--data", "/proc/x"], in: scratch)
        #expect(try await store.wait() == .exited(74))
        #expect(store.errors.hasPrefix("error: The folder /proc/x cannot be created: /proc takes no folders"), "\(store.errors)")
    }

    /// Not even root makes folders in `/sys`.
    @Test(arguments: ["store", "up"])
    func `A data folder that the system forbids ends the command with 77 and a sentence, and nothing is tried again`(
        _ command: String
    ) async throws {
        let scratch = try Scratch()
        let child = try Child(Executable.counter, [command, "--data", "/sys/samovar"], in: scratch)
        #expect(try await child.wait() == .exited(77))
        #expect(child.errors.contains("error: The folder /sys/samovar cannot be created. ("), "\(child.errors)")
    }
    #endif

    @Test func `A data folder behind a link to nowhere ends the store with a sentence`() async throws {
        let scratch = try Scratch()
        let link = scratch.folder("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/nowhere/at/all")
        let store = try Child(Executable.counter, ["store", "--data", link + "/data"], in: scratch)
        #expect(try await store.wait() == .exited(74))
        #expect(store.errors.contains("\(link) is a symbolic link to nowhere"), "\(store.errors)")
    }

    @Test func `A working directory that was removed ends the store with a sentence`() async throws {
        let scratch = try Scratch()
        let script = "mkdir \"$0\"; cd \"$0\"; rmdir \"$0\"; exec \"$@\""
        let command = [scratch.folder("gone"), Executable.counter, "store", "--data", "data"]
        let store = try Child("/bin/sh", ["-c", script] + command, in: scratch)
        #expect(try await store.wait() == .exited(74))
        #expect(store.errors.contains("The folder data cannot be created: the working directory was removed"), "\(store.errors)")
    }

    @Test func `A store in a folder of everybody says so once`() async throws {
        let scratch = try Scratch()
        let data = try Self.sharedFolder(in: scratch, owner: nil)
        let store = try Child(Executable.counter, ["store", "--data", data], in: scratch)
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        let words = "the data folder \(data) may be changed by others (mode 777): protect it with chmod 700"
        #expect(store.errors.ranges(of: words).count == 1, "\(store.errors)")
    }

    // MARK: Sockets

    /// A folder in which everybody may write, made by another user if this one may do that.
    private static func sharedFolder(in scratch: Scratch, owner: uid_t?) throws -> String {
        let path = scratch.folder("shared")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(chmod(path, 0o777) == 0)
        if let owner { #expect(chown(path, owner, gid_t.max) == 0) }
        return path
    }

    private static let commands = [["store"], ["worker"], ["send", "increment"], ["view"], ["monitor"], ["status"], ["up"]]

    @Test(arguments: commands)
    func `Nobody meets a store where everybody can make sockets`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let shared = try Self.sharedFolder(in: scratch, owner: nil)
        let child = try Child(
            Executable.counter, command + ["--data", scratch.folder("data")], in: scratch,
            variables: ["SAMOVAR_RUNTIME_DIR": shared])
        #expect(try await child.wait() == .exited(78), "\(child.errors)")
        #expect(child.errors.contains("\(shared) can be changed by others (mode 777)"), "\(child.errors)")
    }

    @Test(.enabled(if: getuid() == 0, "only root can give a folder away"), arguments: commands)
    func `Nobody meets a store in a folder of another user`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let shared = try Self.sharedFolder(in: scratch, owner: 65_534)
        for arguments in [["--endpoint", "ipc://\(shared)"], ["--endpoint", "ipc://\(shared)/deeper"]] {
            let child = try Child(Executable.counter, command + ["--data", scratch.folder("data")] + arguments, in: scratch)
            #expect(try await child.wait() == .exited(78), "\(child.errors)")
            #expect(child.errors.contains("\(shared) belongs to another user (65534)"), "\(child.errors)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: shared) == [])
    }

    @Test func `A folder of sockets that a store has made in the folder for temporary files is good for all`() async throws {
        let scratch = try Scratch()
        let folder = "/tmp/samovar-t-\(getpid())-\(UInt32.random(in: .min ... .max))"
        let store = try await CounterStore(workers: 1, in: scratch, arguments: ["--endpoint", "ipc://\(folder)"])
        let sent = try Child(
            Executable.counter, ["send", "incrementAsync", "--wait", "settled", "--endpoint", "ipc://\(folder)"], in: scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
        try await store.stop()
    }

    @Test func `The runtime folder of the system is taken if it is this user's alone`() async throws {
        let scratch = try Scratch()
        let shared = try Self.sharedFolder(in: scratch, owner: nil)
        let mine = scratch.folder("mine")
        try FileManager.default.createDirectory(
            atPath: mine, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        for (folder, base) in [
            (mine, "\(mine)/samovar"), (shared, "/tmp/samovar-\(getuid())"), ("mine", "/tmp/samovar-\(getuid())"),
        ] {
            let send = try Child(
                Executable.counter, ["send", "increment", "--timeout", "200ms", "--data", scratch.folder("data")], in: scratch,
                variables: ["SAMOVAR_RUNTIME_DIR": "", "XDG_RUNTIME_DIR": folder])
            #expect(try await send.wait() == .exited(69), "\(send.errors)")
            #expect(send.errors.contains("no store answers at ipc://\(base)/"), "\(send.errors)")
            let folder = "/front of the data folder \(scratch.folder("data")), which does not exist, for "
            #expect(send.errors.contains(folder), "\(send.errors)")
        }
    }

    // MARK: TCP

    @Test(arguments: [["store"], ["up"]])
    func `A store listens on TCP only if that was allowed`(_ command: [String]) async throws {
        let scratch = try Scratch()
        let child = try Child(
            Executable.counter, command + ["--data", scratch.folder("data"), "--endpoint", "tcp://127.0.0.1:7700"], in: scratch)
        #expect(try await child.wait() == .exited(78))
        let text =
            "error: tcp://127.0.0.1:7700 is open to every user of this machine, since there are no keys: use ipc, or allow it with "
            + "--insecure-tcp (insecureTcp: true in a file, SAMOVAR_INSECURE_TCP=true)\n"
        #expect(child.errors == text)
        #expect(!FileManager.default.fileExists(atPath: scratch.folder("data")))
    }

    @Test func `A store on TCP warns at its start, and its peers need no consent`() async throws {
        let scratch = try Scratch()
        let port = Int.random(in: 20_000...30_000)
        let endpoint = "tcp://127.0.0.1:\(port)"
        let store = try await CounterStore(
            workers: 1, in: scratch, arguments: ["--endpoint", endpoint], variables: ["SAMOVAR_INSECURE_TCP": "true"])
        #expect(
            store.up.errors.contains("\(endpoint) has no keys: every user of this machine can send inputs"), "\(store.up.errors)")
        let send = try Child(
            Executable.counter, ["send", "incrementAsync", "--wait", "settled", "--endpoint", endpoint], in: scratch)
        #expect(try await send.wait() == .exited(0), "\(send.errors)")
        try await store.stop()
        let again = try Child(
            Executable.counter, ["up", "--workers", "0", "--insecure-tcp", "--data", store.data, "--endpoint", endpoint],
            in: scratch)
        try await eventually("it serves and warns") { again.errors.contains("serving") && again.errors.contains("has no keys") }
    }
}
