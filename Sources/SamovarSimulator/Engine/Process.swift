import SamovarCore

/// The clock of one process, as `HostClock`: the wall clock at its start, and from there on a clock that never jumps, but runs a
/// little too fast or too slow.
struct ProcessClock {
    private var wall: Instant = 0
    private var started: Instant = 0
    private var drift: Instant = 0

    init() {}

    /// - Parameters:
    ///   - wall: what the machine's wall clock says at `started`.
    ///   - drift: parts per million.
    init(wall: Instant, started: Instant, drift: Instant) {
        self.wall = wall
        self.started = started
        self.drift = drift
    }

    func now(_ time: Instant) -> Timestamp { Timestamp(microseconds: wall + passed(time)) }

    /// How long it has been running, by itself.
    func passed(_ time: Instant) -> Instant {
        let passed = time - started
        return passed + passed / 1_000 * drift / 1_000
    }

    /// The first instant in whole milliseconds from `now` on at which this clock shows `time` or more.
    func instant(of time: Timestamp, after now: Instant) -> Instant {
        let wait = max(0, (time - self.now(now)).microseconds)
        let milliseconds = min((wait + 999) / 1_000, 60_000)
        return now + milliseconds * 1_000 + (milliseconds > 0 ? 1 : 0)
    }
}

/// A process of the world: it is up or not, it may be stopped by a signal, and it runs its loop when something has arrived or its
/// time has come.
class Process {
    unowned let world: World
    let name: String
    /// How often it was started; an event that was meant for another start is nobody's.
    private(set) var incarnation = 0
    private(set) var isUp = false
    private(set) var isPaused = false
    private(set) var clock = ProcessClock()
    private(set) var startInstant: Instant = 0
    /// The next planned round.
    private var wakeAt = Instant.max
    /// It computes until then.
    private var busyUntil: Instant = 0
    var random: SeededRandom
    /// The socket of a peer that has only one; others have their own.
    var port = Port()

    init(_ world: World, _ name: String, _ number: Int) {
        self.world = world
        self.name = name
        random = SeededRandom(seed: world.seed, "process", number)
    }

    var localNow: Timestamp { clock.now(world.now) }
    /// In virtual time, but for what the clock drifts since its start.
    var localInstant: Instant { startInstant + clock.passed(world.now) }

    /// Runs one round of the loop. Subclasses decide what that is.
    func round() throws(Violation) {}

    /// Reads what it needs and begins its loop.
    func begin() throws(Violation) {}

    /// Forgets all that a dead process forgets.
    func end() {}

    // MARK: Links

    /// A frame has come.
    func arrive(_ parts: [[UInt8]], on link: Link) {
        guard link === port.link else { return }
        port.arrive(parts)
        wake(at: world.now)
    }

    /// A link that it has made is open.
    func connected(_ link: Link) {
        if link === port.link { wake(at: world.now) }
    }

    /// It notices that one is broken.
    func broke(_ link: Link) {
        guard link === port.link else { return }
        port.breakOff()
        wake(at: world.now)
    }

    // MARK: Time

    func wake(at time: Instant) {
        let time = max(time, busyUntil, world.now)
        guard time < wakeAt else { return }
        wakeAt = time
        world.plan(.round(self, incarnation: incarnation), at: time)
    }

    func roundIsDue() throws(Violation) {
        guard isUp, !isPaused, world.now >= wakeAt else { return }
        wakeAt = .max
        busyUntil = world.now + random.about(world.swarm.roundCost)
        try round()
    }

    // MARK: Life

    func start(drift: Instant, wall: Instant) throws(Violation) {
        clock = ProcessClock(wall: wall, started: world.now, drift: drift)
        startInstant = world.now
        isUp = true
        isPaused = false
        wakeAt = .max
        busyUntil = world.now
        world.note("\(name) starts")
        try begin()
    }

    func die(_ reason: String) {
        guard isUp else { return }
        world.note("\(name) ends: \(reason)")
        end()
        isUp = false
        isPaused = false
        incarnation += 1
    }

    func pause(until time: Instant) {
        guard isUp, !isPaused else { return }
        world.note("\(name) is stopped until \(describe(time))")
        isPaused = true
        world.plan(for: self, at: time, resume)
    }

    /// A loop that was stopped finds everything at once that came meanwhile.
    func resume() throws(Violation) {
        guard isPaused else { return }
        world.note("\(name) goes on")
        isPaused = false
        wakeAt = .max
        wake(at: world.now + random.time(1...2 * milliseconds))
    }
}
