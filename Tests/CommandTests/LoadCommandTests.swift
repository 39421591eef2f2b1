import Foundation
import GRDB
import ProcessSupport
import Testing

/// Load tests as a person would start them, with real processes.
@Suite(.serialized) struct LoadCommandTests {
    private func load(_ arguments: String..., in scratch: Scratch, executable: String = Executable.counter) throws -> Child {
        try Child(executable, ["load"] + arguments, in: scratch)
    }

    @Test func `Two agents see store and workers die each second, and nothing is lost, duplicated or out of order`() async throws {
        let scratch = try Scratch()
        let page = scratch.folder("load.html")
        let load = try load(
            "--rate", "300", "--duration", "5s", "--processes", "2", "--clients", "6", "--workers", "2", "--kill", "store,worker",
            "--every", "1s", "--input", #"{"increment":{}}"#, "--input", #"{"incrementAsync":{}}"#, "--json", "--report", page,
            in: scratch)
        #expect(try await load.wait(within: .seconds(90)) == .exited(0), "\(load.errors)")
        let result = try load.json
        #expect(result["sound"] as? Bool == true)
        for kind in ["lost", "duplicated", "outOfOrder", "contradicted", "unanswered"] {
            #expect(result[kind] as? Int == 0, "\(kind)")
        }
        #expect((result["judgedBy"] as? [String: Any])?["evidence"] as? String == "journal", "\(result)")
        let inputs = try #require(result["inputs"] as? [String: Any])
        #expect(inputs["due"] as? Int == 1_500 && inputs["sent"] as? Int == 1_500)
        let (applied, refused) = (try #require(inputs["applied"] as? Int), try #require(inputs["refused"] as? Int))
        #expect(applied + refused == 1_500 && applied >= 750)
        let killed = try #require(result["kills"] as? [[String: Any]]).compactMap { $0["process"] as? String }
        #expect(killed.contains("store") && killed.contains { $0.hasPrefix("worker") }, "\(killed)")
        // Whoever was killed was not there for a while, which an open loop does not hide.
        let latencies = try #require(result["latencyMicroseconds"] as? [String: [String: Any]])
        #expect(latencies["applied"]?["count"] as? Int == applied)
        #expect(try #require(latencies["applied"]?["max"] as? Int) > 20_000)
        let names = try #require(result["processes"] as? [[String: Any]]).compactMap { $0["name"] as? String }
        #expect(names == ["store", "worker 1", "worker 2", "agent 1", "agent 2", "coordinator"])
        #expect(try String(contentsOfFile: page, encoding: .utf8).contains("store killed"))
        #expect(load.errors.contains("killed store") && load.errors.contains("applied"))
        try await eventually("nothing is left running") { ProcessTable.all(naming: "/tmp/samovar-load-").isEmpty }
    }

    @Test func `The tool puts a running store under load and leaves it running`() async throws {
        let store = try await CounterStore()
        let load = try load(
            "--data", store.data, "--rate", "200", "--duration", "1s", "--input", "increment", in: store.scratch,
            executable: Executable.samovar)
        #expect(try await load.wait() == .exited(0), "\(load.errors)")
        #expect(load.output.contains("lost 0, duplicated 0, out of order 0; by the journal"), "\(load.output)")
        #expect(try await store.run("view").output.contains(#""sync":"200""#))
    }

    @Test func `An agent from elsewhere takes part`() async throws {
        let scratch = try Scratch()
        let meeting = "ipc://" + scratch.folder("meeting")
        let load = try load(
            "--listen", meeting, "--agents", "1", "--processes", "1", "--clients", "2", "--rate", "100", "--duration", "1s",
            "--json", in: scratch)
        try await eventually("it waits") { FileManager.default.fileExists(atPath: scratch.folder("meeting")) }
        let agent = try self.load("--agent", "--join", meeting, in: scratch, executable: Executable.samovar)
        #expect(try await load.wait() == .exited(0), "\(load.errors)")
        #expect(try await agent.wait() == .exited(0), "\(agent.errors)")
        #expect(try #require(load.json["inputs"] as? [String: Any])["applied"] as? Int == 100)
    }

    @Test func `An agent that dies is told, and is no success`() async throws {
        let scratch = try Scratch()
        let load = try load("--rate", "100", "--duration", "60s", "--processes", "2", in: scratch)
        try await eventually("it runs") { load.errors.contains("applied") }
        let agent = try #require(
            ProcessTable.all(naming: "--agent").first { $0.parent == load.id && $0.arguments.contains("agent 2") })
        agent.send(SIGKILL)
        #expect(try await load.wait() == .exited(70), "\(load.errors)")
        #expect(load.errors.contains("agent 2 is missing: its process ended (signal 9)"), "\(load.errors)")
        #expect(load.output.contains("problem: agent 2 is missing"), "\(load.output)")
        #expect(load.output.contains("send → applied"))
    }

    @Test func `Control-C ends it in order, with what was seen so far`() async throws {
        let scratch = try Scratch()
        let load = try load("--rate", "100", "--duration", "600s", in: scratch)
        try await eventually("it runs") { load.errors.contains("applied") }
        load.send(SIGINT)
        // Long before its drain of 30 s: there is nothing to wait for.
        #expect(try await load.wait() == .exited(70), "\(load.errors)")
        #expect(load.output.contains("problem: interrupted after") && load.output.contains("lost 0"), "\(load.output)")
    }

    @Test func `Inputs that the program cannot read are no success`() async throws {
        let scratch = try Scratch()
        let load = try load("--rate", "50", "--duration", "500ms", "--input", "nonsense", in: scratch)
        #expect(try await load.wait() == .exited(70), "\(load.errors)")
        #expect(load.output.contains("no input was applied, so nothing was tested"), "\(load.output)")
        #expect(load.output.contains("nonsense"), "\(load.output)")
    }

    @Test func `Mistakes are said before anything starts`() async throws {
        let scratch = try Scratch()
        let mistakes: [(arguments: [String], code: Int32, text: String)] = [
            (["--rate", "10", "--saturate"], 64, "--rate and --saturate exclude each other"),
            (["--kill", "agent"], 64, "only store and worker can be killed"),
            (["--kill", "store", "--data", scratch.folder("data")], 64, "--kill is for processes that load has started itself"),
            (["--agent"], 64, "--agent and --join ENDPOINT belong together"),
            (["--input", #"{"a":"#], 65, "is no JSON"),
            (["--data", scratch.folder("data"), "--duration", "1s"], 69, "no store answers"),
            (["--listen", "tcp://0.0.0.0:7800", "--agents", "1"], 78, "beyond loopback"),
            (["--agent", "--join", "tcp://192.0.2.1:7800"], 78, "beyond loopback"),
        ]
        for mistake in mistakes {
            let child = try Child(Executable.counter, ["load"] + mistake.arguments, in: scratch)
            #expect(try await child.wait() == .exited(mistake.code), "\(mistake.arguments): \(child.errors)")
            #expect(child.errors.contains(mistake.text), "\(mistake.arguments): \(child.errors)")
        }
    }
}
