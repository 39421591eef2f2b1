/// Whether there is a Python that peers of a store can be written in, with these modules. `make test` installs `zmq` and `msgpack`.
public func pythonHas(_ modules: String...) async -> Bool {
    let trial = "import \(modules.joined(separator: ", ")), sys; sys.exit(sys.version_info < (3, 11))"
    // Where there is no Python, it cannot be started.
    return (try? await Child.run("python3", ["-c", trial]))?.end == .exited(0)
}
