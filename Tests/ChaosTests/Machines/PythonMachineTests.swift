import Foundation
import ProcessSupport
import Testing

/// The Python package as its README says: installed by pip, and in use on another machine than the store's.
@Suite(
    .serialized,
    .enabled("network namespaces need root, `unshare`, `nsenter`, `ip` and `ss`: Python on another machine is not tested") {
        await Namespaces.areAvailable()
    },
    .enabled("python3.11 with venv, pyzmq and msgpack is missing: the package for Python is not installed") {
        await pythonHas("venv", "ensurepip", "zmq", "msgpack")
    })
struct PythonMachineTests {
    private let scratch: Scratch
    private let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../../clients/python"
    ).standardizedFileURL

    init() throws { scratch = try Scratch() }

    /// The first program in the README.
    private func tenLines() throws -> String {
        let readme = try String(contentsOf: package.appendingPathComponent("README.md"), encoding: .utf8)
        let block = try #require(readme.components(separatedBy: "```python\n").dropFirst().first)
        let program = try #require(block.components(separatedBy: "```").first)
        #expect(program.split(separator: "\n").count == 10)
        return program
    }

    private func run(_ words: String...) async throws -> Child {
        let child = try Child(words[0], Array(words[1...]), in: scratch)
        #expect(try await child.wait(within: .seconds(180)) == .exited(0), "\(child.output)\n\(child.errors)")
        return child
    }

    /// - Returns: the Python of a new virtual environment with the package, and variables for it.
    private func install() async throws -> (python: String, variables: [String: String]) {
        let (venv, copy) = (scratch.folder("venv"), scratch.folder("package"))
        _ = try await run("python3", "-m", "venv", venv)
        // Pip builds in the folder that it is given.
        try FileManager.default.copyItem(atPath: package.path, toPath: copy)
        let python = "\(venv)/bin/python3"
        // Without a network it does with what is there already, if that can build packages.
        let found = try await run("python3", "-c", "import os, zmq; print(os.path.dirname(os.path.dirname(zmq.__file__)))")
        let variables = ["PYTHONPATH": found.output.trimmingCharacters(in: .newlines)]
        let trial = try Child(
            python, ["-m", "pip", "install", "--no-index", "--no-build-isolation", copy], in: scratch, variables: variables)
        if try await trial.wait(within: .seconds(180)) == .exited(0) { return (python, variables) }
        _ = try await run(python, "-m", "pip", "install", copy)
        return (python, [:])
    }

    @Test func `Ten lines of Python serve the counter from another machine, with a key`() async throws {
        let (python, variables) = try await install()
        let network = try await Namespaces(["store", "elsewhere"], in: scratch)
        let endpoint = "tcp://\(try network.address(of: "store")):7410"
        func counter(_ words: String...) throws -> Child {
            let words = try network.starter("store") + [Executable.counter] + words
            return try Child(words[0], Array(words[1...]), in: scratch)
        }
        let (data, keys, key) = (scratch.folder("data"), scratch.folder("keys"), scratch.folder("ten.key"))
        let made = try counter("keys", "new", "ten", "--role", "worker", "--keys", keys, "--out", key)
        #expect(try await made.wait() == .exited(0), "\(made.errors)")
        let store = try counter("store", "--data", data, "--endpoint", endpoint, "--keys", keys)
        try await eventually("the store serves") { store.errors.contains("serving") }

        let program = try scratch.write(try tenLines(), to: "counter.py")
        let words = try network.starter("elsewhere") + [python, program, endpoint, key]
        let worker = try Child(words[0], Array(words[1...]), in: scratch, variables: variables)
        for number in 1...3 {
            let sent = try counter("send", "incrementAsync", "--wait", "settled", "--data", data)
            #expect(try await sent.wait() == .exited(0), "\(sent.errors) \(worker.errors)")
            let view = try counter("view", "--data", data)
            #expect(try await view.wait() == .exited(0) && view.output.contains(#""async":"\#(number)""#), "\(view.output)")
        }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == .exited(0), "\(worker.errors)")
    }
}
