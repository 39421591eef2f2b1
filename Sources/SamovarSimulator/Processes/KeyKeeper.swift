import SamovarCore
import SamovarStore
import SamovarWire

/// Who keeps the keys of the store: gives them out, renews and revokes them, lets them expire, and has the table read again, or forgets to.
///
/// What it has written is in force when the store has read it: for a request, for a signal, or with its next start. When everything has healed,
/// all who belong here have a good key, and the intruder has none.
final class KeyKeeper: Process {
    /// The keys of one name, and who comes with them.
    struct Holder {
        let name: KeyName
        let roles: Set<Role>
        var queues: Set<Queue>?
        var limits = KeyKeeper.patience
        /// Those in the table, oldest first.
        fileprivate(set) var keys: [Key] = []
        /// What its key file holds.
        fileprivate(set) var held: Fingerprint

        fileprivate var usual: Key { key(held) }

        fileprivate func key(
            _ fingerprint: Fingerprint, roles: Set<Role>? = nil, queues: Set<Queue>? = nil, inputs: Set<String>? = nil,
            notAfter: Timestamp? = nil
        ) -> Key {
            Key(
                name, fingerprint, roles: roles ?? self.roles, queues: queues ?? self.queues, inputs: inputs, notAfter: notAfter,
                limits: limits)
        }
    }

    /// By the names of the processes, or for the intruder by those of the keys.
    private(set) var holders: [String: Holder] = [:]
    private var places: [String] = []
    /// Those that were in the table, and never will be again.
    private(set) var retired: [Fingerprint] = []
    private var isReadable = true
    private var isRepaired = false
    private var actsAt: Instant = 0
    private var triesAt: Instant = 0
    private var requests = 0
    private var isWaiting = false

    /// Of those who belong here: none comes to its limits.
    private static let patience: Key.Limits = {
        var limits = Key.Limits()
        (limits.sessions, limits.hellos, limits.badFrames) = (100_000, 10_000, 1_000_000)
        return limits
    }()
    private static let little: Key.Limits = {
        var limits = Key.Limits()
        (limits.sessions, limits.hellos) = (2, 3)
        return limits
    }()

    init(_ world: World) {
        super.init(world, "key keeper", 400)
        let share = world.swarm.inputs == nil ? 0.7 : 1
        for client in world.clients where random.chance(share) { enroll(client.name, [.client]) }
        for worker in world.workers where random.chance(share) { enroll(worker.name, [.worker], queues: Set(worker.queues)) }
        if let name = world.operatorProcess?.name, random.chance(share) { enroll(name, [.operator]) }
        if world.swarm.inputs == nil {
            enroll("guest", [.client, .viewer], queues: ["guests"])
            enroll("watcher", [.viewer], queues: ["guests"])
            enroll("hand", [.worker], queues: ["guests"])
            enroll("loud", [.client], limits: Self.little)
        }
        enroll(name, [.operator])
    }

    private func enroll(_ place: String, _ roles: Set<Role>, queues: Set<Queue>? = nil, limits: Key.Limits = patience) {
        guard let name = KeyName(String(place.map { $0 == " " ? "-" : $0 })) else { return }
        var holder = Holder(name: name, roles: roles, queues: queues, limits: limits, held: fresh())
        holder.keys = [holder.usual]
        holders[place] = holder
        places.append(place)
    }

    private func fresh() -> Fingerprint { Fingerprint(high: random.word(), low: random.word()) }

    /// With what a process comes that connects now.
    func identity(of process: Process) -> Identity { holders[process.name].map { .key($0.held) } ?? .local }

    /// The key that a process has now; nil if it needs none.
    func key(of process: Process) -> Fingerprint? { holders[process.name]?.held }

    /// It may be in the table, or in one that is still in force.
    func isIn(_ identity: Identity) -> Bool {
        guard case .key(let fingerprint) = identity else { return true }
        return world.store.keys[fingerprint] != nil
            || holders.values.contains { $0.keys.contains { $0.fingerprint == fingerprint } }
    }

    /// What whoever reads the table finds.
    func read() -> Result<KeyTable, KeyTableError> {
        let keys = places.flatMap { holders[$0]?.keys ?? [] }
        // Somebody has copied a line.
        return Result { () throws(KeyTableError) in try KeyTable(isReadable ? keys : keys + keys.suffix(1)) }
    }

    /// Nobody starts a store with a table that cannot be read.
    func readAtStart() throws(KeyTableError) -> KeyTable {
        isReadable = true
        return try read().get()
    }

    /// The store knows what the table says.
    var isIdle: Bool { isRepaired && (try? read().get()) == world.store.keys }

    // MARK: The loop

    override func begin() throws(Violation) {
        actsAt = world.now + pause
        wake(at: actsAt)
    }

    override func end() { port.disconnect(world.network) }

    private var pause: Instant {
        world.isFaulty ? random.about(world.swarm.inputs == nil ? 2 * seconds : 150 * milliseconds) : 300 * milliseconds
    }

    override func round() throws(Violation) {
        port.sendWaiting(world.network)
        for parts in port.receive(limit: .max).messages {
            guard let envelope = try? Envelope(parts: parts), case .reply(let reply) = envelope.frame, reply.id == requests else {
                continue  // Noise, or an earlier one.
            }
            isWaiting = false
            port.disconnect(world.network)
        }
        if port.takeBroke() { triesAt = min(triesAt, world.now + 50 * milliseconds) }
        if isWaiting, world.now >= triesAt { ask() }
        if world.now >= actsAt || !world.isFaulty && !isRepaired { act() }
        wake(at: isWaiting ? min(actsAt, triesAt) : actsAt)
    }

    private func ask() {
        port.connect(world.network.connect(self, listener: .admin), world.network)
        port.send(Envelope(.request(AdminRequest(id: requests, verb: "reloadKeys")), timeline: .zero), world.network)
        triesAt = world.now + 2 * seconds
    }

    // MARK: What is changed

    private func act() {
        actsAt = world.now + pause
        if world.isFaulty { change() } else { repair() }
        if !world.isFaulty || random.chance(0.4) { return world.store.readKeys() }
        guard !isWaiting, random.chance(0.7) else { return }
        requests += 1
        isWaiting = true
        ask()
    }

    private func change() {
        isReadable = random.chance(0.9)
        // Its own key stays as it is.
        for _ in 0..<random.pick([1, 1, 3]) {
            let place = random.pick(places.dropLast())
            guard var holder = holders[place] else { continue }
            let former = holder.keys
            if former == [holder.usual] || random.chance(0.3) { take(from: &holder) } else { restore(&holder) }
            holders[place] = holder
            retire(former.map(\.fingerprint), holder)
            world.note("\(name): \(holder.name) has \(holder.keys.map { "\($0.fingerprint) \($0.roles)" })")
        }
    }

    private func retire(_ former: [Fingerprint], _ holder: Holder) {
        retired += former.filter { fingerprint in !holder.keys.contains { $0.fingerprint == fingerprint } }
    }

    private func take(from holder: inout Holder) {
        switch random.number(0...7) {
        case 0...2 where holder.keys.count < KeyTable.keysOfOneName:
            holder.held = fresh()
            holder.keys.append(holder.usual)
        case 3:
            holder.held = fresh()
            holder.keys = [holder.usual]
        case 4: holder.keys = []
        case 5:
            let end = world.store.time + .milliseconds(random.time(0...10_000))
            holder.keys = holder.keys.map { holder.key($0.fingerprint, notAfter: end) }
        default: holder.keys = holder.keys.map { less($0, holder) }
        }
    }

    /// Loses a role, a queue or the cases of inputs.
    private func less(_ key: Key, _ holder: Holder) -> Key {
        switch random.number(0...2) {
        case 0 where holder.roles.contains(.client):
            return holder.key(key.fingerprint, inputs: [random.pick(["message", "refuse"])])
        case 1 where holder.queues != nil:
            return holder.key(key.fingerprint, queues: Set((holder.queues ?? []).sorted { $0.name < $1.name }.dropFirst()))
        default: return holder.key(key.fingerprint, roles: [holder.roles.contains(.viewer) ? .worker : .viewer])
        }
    }

    private func restore(_ holder: inout Holder) {
        if holder.keys.count > 1 { return holder.keys = [holder.keys.last { $0.fingerprint == holder.held } ?? holder.usual] }
        holder.held = fresh()
        holder.keys = [holder.usual]
    }

    private func repair() {
        guard !isRepaired else { return }
        isRepaired = true
        isReadable = true
        for place in places.dropLast() {
            guard var holder = holders[place] else { continue }
            let former = holder.keys
            if IntruderProcess.names.contains(place) { holder.keys = [] } else if former != [holder.usual] { restore(&holder) }
            if !holder.keys.isEmpty { holder.keys = [holder.usual] }
            holders[place] = holder
            retire(former.map(\.fingerprint), holder)
        }
    }
}
