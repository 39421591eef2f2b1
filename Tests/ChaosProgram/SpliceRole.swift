import ChaosSupport
import Foundation
import ProcessSupport

/// A TCP proxy for the three ports of a store that knows nothing of messages. Until SIGTERM it is a bad network:
///
/// | mode | |
/// |---|---|
/// | `split` | bytes go on in pieces of a few, and now and then it stops in the midst of one; for ever |
/// | `storm` | the same, and a connection is reset every 100 ms |
/// | `hole` | it accepts and never answers |
/// | `late` | everything takes `--delay` microseconds each way; for ever |
/// | `half` | for 4 s at a time it passes nothing on in one direction, and closes nothing |
/// | `flap` | for 0.3 s in each second all connections are cut, and none can be made |
struct SpliceRole {
    private let listen: Int
    private let to: Int
    private let mode: String
    private let seed: UInt64
    private let delay: Duration

    init(_ arguments: RoleArguments) throws {
        delay = .microseconds(try arguments.number("delay", default: 0))
        listen = try arguments.number("listen")
        to = try arguments.number("to")
        mode = try arguments.text("mode")
        seed = UInt64(try arguments.text("seed")) ?? 0
    }

    func run() async throws {
        let healed = EndSignal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await healed.watch() }
            group.addTask { [self] in try pass(healed) }
            try await group.waitForAll()
        }
    }

    /// On the only thread that matters in this process.
    private func pass(_ healed: EndSignal) throws {
        var splice = Splice(seed: seed, isSplitting: mode == "split" || mode == "storm", delay: delay)
        for offset in 0..<3 { try splice.listen(at: listen + offset, to: to + offset) }
        say("passing")
        while true {
            splice.turn(isHole: mode == "hole" && !healed.came)
            if mode == "storm", !healed.came { splice.storm() }
            if mode == "half" { splice.half(healed.came) }
            if mode == "flap" { splice.flap(healed.came) }
        }
    }
}

private struct Splice {
    private struct Listener {
        let descriptor: Int32
        let target: Int
    }

    /// Bytes on their way in one direction.
    private struct Pipe {
        let from: Int32
        let to: Int32
        var bytes: [UInt8] = []
        /// What has a way before it, and when it arrives.
        var late: [(due: ContinuousClock.Instant, bytes: ArraySlice<UInt8>)] = []
        var lateBytes = 0
        var notBefore = ContinuousClock.now
        /// The other direction shares the descriptors.
        let number: Int
        let isToStore: Bool

        mutating func arrive() {
            let now = ContinuousClock.now
            let count = late.prefix { $0.due <= now }.count
            guard count > 0 else { return }
            for piece in late.prefix(count) {
                bytes += piece.bytes
                lateBytes -= piece.bytes.count
            }
            late.removeFirst(count)
        }
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private var listeners: [Listener] = []
    private var pipes: [Pipe] = []
    /// Accepted by the hole.
    private var swallowed: [Int32] = []
    private var random: SeededRandom
    private var connections = 0
    private var resets = 0
    private var nextReset = ContinuousClock.now
    private let isSplitting: Bool
    private let delay: Duration
    /// What waits on its way; then the sender waits.
    private let limit: Int
    private let began = ContinuousClock.now
    /// The direction in which nothing passes.
    private var stopsToStore: Bool?
    private var isDown = false
    private var spells = 0

    init(seed: UInt64, isSplitting: Bool, delay: Duration) {
        random = SeededRandom(seed: seed)
        self.isSplitting = isSplitting
        self.delay = delay
        limit = delay > .zero ? 8 << 20 : 64 << 10
    }

    mutating func listen(at port: Int, to target: Int) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        let status = withAddress(port) { bind(descriptor, $0, $1) }
        guard status == 0, Foundation.listen(descriptor, 128) == 0 else {
            throw Failure(description: "cannot listen at port \(port): \(String(cString: strerror(errno)))")
        }
        listeners.append(Listener(descriptor: descriptor, target: target))
    }

    /// Resets a connection if it is time to.
    mutating func storm() {
        guard ContinuousClock.now >= nextReset, let number = pipes.map(\.number).randomElement(using: &random) else { return }
        nextReset = .now + .milliseconds(100)
        for pipe in pipes where pipe.number == number {
            // To close with unsent bytes and no patience is a reset.
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(pipe.from, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            close(pipe.from)
        }
        pipes.removeAll { $0.number == number }
        resets += 1
        say("reset \(resets)")
    }

    /// Stops one direction, then the other, with pauses between.
    mutating func half(_ isOver: Bool) {
        let second = Int((ContinuousClock.now - began) / .seconds(1)) % 14
        let stops: Bool? = isOver ? nil : (3..<7).contains(second) ? true : (10..<14).contains(second) ? false : nil
        guard stops != stopsToStore else { return }
        stopsToStore = stops
        tell(stops != nil)
    }

    /// Cuts everything for a while.
    mutating func flap(_ isOver: Bool) {
        let isDown = !isOver && Int((ContinuousClock.now - began) / .milliseconds(1)) % 1_000 >= 700
        guard isDown != self.isDown else { return }
        self.isDown = isDown
        tell(isDown)
        guard isDown else { return }
        for number in Set(pipes.map(\.number)) { cut(number) }
    }

    private mutating func tell(_ isSpell: Bool) {
        guard isSpell else { return }
        spells += 1
        say("spell \(spells)")
    }

    private mutating func cut(_ number: Int) {
        guard let pipe = pipes.first(where: { $0.number == number }) else { return }
        close(pipe.from)
        close(pipe.to)
        pipes.removeAll { $0.number == number }
    }

    mutating func turn(isHole: Bool) {
        if !isHole, !swallowed.isEmpty {
            for descriptor in swallowed { close(descriptor) }
            swallowed.removeAll()
        }
        wait()
        for listener in listeners { acceptAll(listener, isHole: isHole) }
        var broken: Set<Int> = []
        for index in pipes.indices {
            if !fill(index) || !drain(index) { broken.insert(pipes[index].number) }
        }
        for number in broken { cut(number) }
    }

    private func wait() {
        var items = (listeners.map(\.descriptor) + pipes.filter { takes($0) }.map(\.from))
            .map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        poll(&items, nfds_t(items.count), pipes.contains { !$0.bytes.isEmpty || !$0.late.isEmpty } ? 1 : 20)
    }

    private func takes(_ pipe: Pipe) -> Bool { pipe.isToStore != stopsToStore && pipe.bytes.count + pipe.lateBytes < limit }

    private mutating func acceptAll(_ listener: Listener, isHole: Bool) {
        while true {
            let accepted = accept(listener.descriptor, nil, nil)
            guard accepted >= 0 else { return }
            _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
            if isDown {
                close(accepted)
                continue
            }
            if isHole {
                swallowed.append(accepted)
                continue
            }
            let target = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard withAddress(listener.target, { connect(target, $0, $1) }) == 0 else {
                close(target)
                close(accepted)
                continue
            }
            _ = fcntl(target, F_SETFL, O_NONBLOCK)
            connections += 1
            pipes.append(Pipe(from: accepted, to: target, number: connections, isToStore: true))
            pipes.append(Pipe(from: target, to: accepted, number: connections, isToStore: false))
        }
    }

    /// False if the connection has ended.
    private mutating func fill(_ index: Int) -> Bool {
        guard takes(pipes[index]) else { return true }
        var buffer = [UInt8](repeating: 0, count: isSplitting ? 4_096 : 65_536)
        let count = recv(pipes[index].from, &buffer, buffer.count, 0)
        if count > 0, delay > .zero {
            pipes[index].late.append((.now + delay, buffer[..<count]))
            pipes[index].lateBytes += count
        } else if count > 0 {
            pipes[index].bytes += buffer[..<count]
        }
        return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
    }

    /// All that can be sent; or a few pieces, and now and then a pause.
    private mutating func drain(_ index: Int) -> Bool {
        guard isSplitting else { return pass(index) }
        var pieces = 64
        while pieces > 0, !pipes[index].bytes.isEmpty, pipes[index].notBefore <= .now {
            pieces -= 1
            // From one byte, so that every boundary is cut sooner or later.
            let size = min(pipes[index].bytes.count, Int.random(in: 1...40, using: &random))
            let count = send(pipes[index].to, Array(pipes[index].bytes.prefix(size)), size, Int32(MSG_NOSIGNAL))
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            pipes[index].bytes.removeFirst(count)
            if Int.random(in: 0..<4_000, using: &random) == 0 {
                pipes[index].notBefore = .now + .milliseconds(Int.random(in: 1...300, using: &random))
            }
        }
        return true
    }
}

extension Splice {
    private mutating func pass(_ index: Int) -> Bool {
        guard pipes[index].isToStore != stopsToStore else { return true }
        pipes[index].arrive()
        guard !pipes[index].bytes.isEmpty else { return true }
        let count = send(pipes[index].to, pipes[index].bytes, pipes[index].bytes.count, Int32(MSG_NOSIGNAL))
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        pipes[index].bytes.removeFirst(count)
        return true
    }
}

/// Calls `body` with the address of a port on loopback.
private func withAddress(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
}
