import Foundation
import MessagePack
import ProcessSupport
import Samovar
import SamovarCore
import SamovarHost
import SamovarWire
import Testing
import ZeroMQ

@testable import ContractProgram

/// What is in payloads and keys is nowhere else: not in logs at their most talkative, not in errors, and secrets not in the journal.
@Suite struct CanaryTests {
    /// A store with keys, at its most talkative.
    private final class Site: Sendable {
        static let keys = ["client", "worker", "operator"]

        let scratch: Scratch
        let port: Int
        let store: Child
        let secrets: [String]

        init() async throws {
            scratch = try Scratch()
            port = try Ports.free()
            let folder = scratch.folder("keys")
            let first = try Child(
                Executable.samovar,
                ["keys", "new", "first", "--role", "viewer", "--keys", folder, "--out", scratch.folder("first.key")], in: scratch)
            #expect(try await first.wait() == .exited(0), "\(first.errors)")
            let servers = try StoreKeys(folder: folder).servers
            var secrets: [String] = []
            for name in Self.keys + ["stranger"] {
                var text = Array(Canary.secret().utf8)
                secrets.append(String(decoding: text, as: UTF8.self))
                let secret = try #require(text.withUnsafeMutableBytes { CurveSecretKey(z85: UnsafeRawBufferPointer($0)) })
                let file = KeyFile(try #require(KeyName(name)), try CurveKeyPair(secret), servers: servers)
                try file.write(to: scratch.folder("\(name).key"), mayReplace: false)
                guard name != "stranger" else { continue }
                try Self.append("\(name) \(file.fingerprint) \(name)\n", to: folder + "/table")
            }
            self.secrets = secrets
            let child = try Child(
                Executable.path("ContractProgram"),
                [
                    "store", "--seed", #"{"loads":false}"#, "--data", scratch.folder("data"), "--keys", folder, "--endpoint",
                    "tcp://127.0.0.1:\(port)", "--log-level", "trace",
                ], in: scratch)
            store = child
            try await eventually("the store serves: \(child.errors)") { child.errors.contains("serving") }
        }

        func start(_ arguments: [String], as key: String, input: String = "") throws -> Child {
            let place = ["--endpoint", "tcp://127.0.0.1:\(port)", "--key", scratch.folder("\(key).key"), "--log-level", "trace"]
            return try Child(Executable.path("ContractProgram"), arguments + place, in: scratch, input: input)
        }

        @discardableResult
        func run(_ arguments: String..., as key: String, input: String = "") async throws -> Child {
            let child = try start(arguments, as: key, input: input)
            try await child.wait()
            return child
        }

        /// The files with these endings, each with what it has.
        func files(_ isWanted: (String) -> Bool) throws -> [(name: String, bytes: Data)] {
            let names = try FileManager.default.subpathsOfDirectory(atPath: scratch.path)
            return names.filter(isWanted).compactMap { name in
                // A folder and a socket have none.
                FileManager.default.contents(atPath: scratch.folder(name)).map { (name, $0) }
            }
        }

        private static func append(_ line: String, to file: String) throws {
            let handle = try #require(FileHandle(forWritingAtPath: file))
            handle.seekToEndOfFile()
            handle.write(Data(line.utf8))
            try handle.close()
        }
    }

    private func json(_ name: String, _ value: String) -> String { #"{"\#(name)":\#(value)}"# }

    private func expect(_ words: [String], areMissingIn files: [(name: String, bytes: Data)]) {
        for (name, bytes) in files {
            for word in words {
                guard let found = bytes.range(of: Data(word.utf8)) else { continue }
                // Not the word itself, for this is printed.
                let context = bytes[max(bytes.startIndex, found.lowerBound - 100)..<min(bytes.endIndex, found.upperBound + 40)]
                let shown = String(decoding: context, as: UTF8.self).replacing(/canary\.\w+\.\w+|CanarySecret\w+/, with: "XXX")
                Issue.record("\(name): \(shown)")
            }
        }
    }

    @Test func `What is in payloads is in no log and no error`() async throws {
        let site = try await Site()
        let worker = try site.start(["worker"], as: "worker")
        let text = "\"\(Canary.payload)\""
        // Good ones.
        for input in [json("noted", #"{"_0":\#(text)}"#), json("publish", #"{"text":\#(text)}"#)] {
            #expect(try await site.run("send", input, "--wait", "settled", as: "client").end == .exited(0))
        }
        // Two handlers that fail: one with words of its own, which operators see, and one that nobody has.
        let failing = json("look", #"{"endpoint":"tcp://\#(Canary.detail)"}"#)
        #expect(try await site.run("send", failing, "--wait", "settled", as: "client").end == .exited(0))
        let unknown = json("unknown", #"{"text":\#(text)}"#)
        #expect(try await site.run("send", unknown, "--wait", "settled", as: "client").end == .exited(0))
        // Bad ones: a case, a field, values, types and texts that there are not. A text alone is a case without values.
        let name = "\"\(Canary.name)\""
        let bad = [
            json(Canary.name, "{}"), json(Canary.name, text), name, Canary.name, json("noted", name),
            json("noted", #"{\#(name):1}"#), json("noted", #"{"_0":\#(text),\#(name):\#(text)}"#),
            json("increment", #"{"by":\#(text)}"#), json("tick", #"{"_0":\#(text)}"#), json("noted", "[\(text)]"), "[\(text)",
            #"{"noted":\#(text)"#, #"{"noted":{"_0":\#(text.dropLast())\q"}}"#,
        ]
        for input in bad {
            let child = try await site.run("send", input, as: "client")
            #expect(child.end != .exited(0))
            expect([Canary.payload], areMissingIn: [("the receipt of a bad input", child.outputBytes)])
        }
        _ = try await site.run("send", "-", as: "client", input: bad.joined(separator: "\n"))
        try noise(at: site)
        _ = try await site.run("send", json("noted", #"{"_0":\#(text)}"#), as: "stranger")
        _ = try await site.run("send", json("noted", #"{"_0":\#(text)}"#), as: "operator")
        for command in ["status", "effects", "queues", "outputs"] {
            let child = try await site.run(command, as: "operator")
            expect([Canary.payload], areMissingIn: [(command, child.outputBytes)])
        }
        let inspected = try await site.run("inspect", as: "operator")
        #expect(inspected.output.contains(Canary.payload), "it was there to be seen")
        worker.send(SIGTERM)
        #expect(try await worker.wait() == .exited(0))
        site.store.send(SIGTERM)
        #expect(try await site.store.wait() == .exited(0))
        // The store's log has told of much, and why the handler has failed.
        #expect(site.store.errors.contains(Canary.detail) && site.store.errors.contains(Canary.name))
        #expect(site.store.errors.contains("no handler of this worker takes unknown from queue default"))
        expect([Canary.detail], areMissingIn: [("the worker's log", Data(worker.errors.utf8))])
        expect([Canary.payload], areMissingIn: try site.files { $0.hasSuffix(".err") })
    }

    /// Messages that are no frames, and frames that make no sense, at each listener.
    private func noise(at site: Site) throws {
        let folder = try #require(try FileManager.default.contentsOfDirectory(atPath: site.scratch.folder("run")).first)
        let word = Array(Canary.payload.utf8)
        let schema = Schema(name: Canary.name, version: 1)
        let offer = WorkerOffer(id: .random(), slots: 1, queues: [Queue(Canary.name)])
        let frames: [Frame] = [
            .hello(Hello(role: .client(session: .random()), schema: schema)),
            .hello(Hello(role: .worker(offer), schema: schema)),
            .hello(Hello(role: .worker(offer), schema: Contract.schema)),
            .request(AdminRequest(id: 1, verb: Canary.name, arguments: .string(Canary.payload))),
            .request(AdminRequest(id: 2, verb: "pause", arguments: .string(Canary.payload))),
            .request(AdminRequest(id: 3, verb: "drop", arguments: ["effect": .string(Canary.payload)])),
            .viewRequest(instance: Instance(Canary.name), atLeast: 1),
        ]
        for door in ["front", "work", "admin"] {
            let context = try Context()
            var socket = try Socket(context, .dealer, options: .client)
            try socket.connect("ipc://\(site.scratch.folder("run"))/\(folder)/\(door)")
            var poller = Poller()
            _ = poller.add(socket, for: .writable)
            #expect(try poller.wait(timeoutMilliseconds: 10_000) == 1)
            #expect(try socket.send(word) == .sent)
            #expect(try socket.send(FrameHeader(.send, timeline: .zero, number: 1).bytes, word) == .sent)
            for frame in frames { #expect(try socket.send(Envelope(frame, timeline: .zero).parts) == .sent) }
            var reader = Poller()
            _ = reader.add(socket)
            // An answer shows that the frames have come.
            #expect(try reader.wait(timeoutMilliseconds: 10_000) == 1)
        }
    }

    @Test func `What is in key files is in no log, no error, no output and not in the journal`() async throws {
        let site = try await Site()
        let worker = try site.start(["worker"], as: "worker")
        #expect(try await site.run("send", json("publish", #"{"text":"a"}"#), "--wait", "settled", as: "client").end == .exited(0))
        #expect(try await site.run("status", as: "operator").end == .exited(0))
        #expect(try await site.run("view", as: "stranger").end == .exited(77))
        // A secret where the name of a file belongs, and a file with a secret where it does not.
        let secret = try #require(site.secrets.last)
        let place = ["--endpoint", "tcp://127.0.0.1:\(site.port)", "--log-level", "trace"]
        let wrong = [
            ["view", "--key", secret] + place, ["worker", "--key", secret] + place, ["keys", "list", "--keys", secret],
            ["keys", "new", "x", "--role", "viewer", "--keys", secret], ["keys", "server", "update", secret],
            ["store", "--data", site.scratch.folder("other"), "--keys", secret],
            ["load", "--agent", "--join", "tcp://127.0.0.1:1", "--key", secret],
        ]
        for arguments in wrong {
            let child = try Child(Executable.path("ContractProgram"), arguments, in: site.scratch)
            guard case .exited(let code) = try await child.wait() else { throw TimedOut("\(arguments[0])") }
            #expect(code != 0, "\(arguments.prefix(2))")
        }
        let broken = try String(contentsOfFile: site.scratch.folder("stranger.key"), encoding: .utf8)
        for (name, text) in [
            ("a.key", broken.replacing("secret: ", with: "public: ")), ("b.key", broken.replacing("secret: ", with: "")),
            ("c.key", broken.replacing(secret, with: secret + "x")), ("d.key", broken.replacing("\nsecret: ", with: " ")),
        ] {
            chmod(try site.scratch.write(text, to: name), 0o600)
            #expect(try await site.run("view", as: String(name.dropLast(4))).end == .exited(78), "\(name)")
        }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == .exited(0))
        site.store.send(SIGTERM)
        #expect(try await site.store.wait() == .exited(0))

        let server = try StoreKeys(folder: site.scratch.folder("keys")).server
        let secrets = site.secrets + [server.secretKey.withZ85 { String(decoding: $0, as: UTF8.self) }]
        let files = try site.files { !$0.hasSuffix(".key") && !$0.hasSuffix(".in") }
        #expect(
            files.contains { $0.name.hasPrefix("data/") && $0.bytes.range(of: Data("publish".utf8)) != nil }, "the journal is there"
        )
        for secret in secrets {
            let bytes = try #require(CurvePublicKey(z85: secret)).bytes
            let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            let base64 = Data(bytes).base64EncodedString().prefix { $0 != "=" }
            expect([secret, hex, hex.uppercased(), String(base64)], areMissingIn: files)
            #expect(files.allSatisfy { $0.bytes.range(of: Data(bytes)) == nil })
        }
    }
}
