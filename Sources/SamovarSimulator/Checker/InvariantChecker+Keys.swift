import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// Keys: who may do what, who is heard, whose something is, and what the journal says of it. What a frame may do is decided here once more, by
/// the table that is in force when the store reads it.
extension InvariantChecker {
    // MARK: What the store reads

    func handles(_ parts: [[UInt8]], on link: Link) {
        guard world.keyKeeper != nil, let envelope = try? Envelope(parts: parts) else { return }  // Noise does nothing.
        let sender = link.fingerprint.flatMap { world.store.keys[$0]?.sender }
        guard mayDo(envelope.frame, on: link) else { return link.standing.hasTransgressed = true }
        link.standing.done.insert(envelope.kind)
        switch (envelope.frame, link.standing.greeted) {
        case (.hello(let hello), _): greets(hello, on: link, by: sender)
        case (.send(let submissions, _), let session?):
            for submission in submissions {
                reference.keys.senders[session, default: [:]][submission.sequence, default: []].insert(sender)
            }
        case (.goodbye, let id?): reference.keys.farewells.insert(id)
        case (.ping, let id?), (.credit, let id?), (.result, let id?), (.progress, let id?):
            if link.standing.isKnown { reference.keys.hear(id, world.now) }
        case (.request(let request), _):
            link.standing.isRefused = false
            if link.peer === world.operatorProcess { world.operatorProcess?.errand(request.id)?.senders.insert(sender) }
        default: break
        }
    }

    private func greets(_ hello: Hello, on link: Link, by sender: Sender?) {
        link.standing.isRefused = false
        link.standing.welcomesDue += 1
        link.standing.greetedAt = world.now
        switch hello.role {
        case .client(let session):
            link.standing.greeted = session
            if link.isRemote, link.peer is ClientProcess { greeted(session) }
        case .worker(let offer):
            link.standing.greeted = offer.id
            reference.keys.workerSenders[offer.id, default: []].insert(sender)
        }
    }

    private func mayDo(_ frame: Frame, on link: Link) -> Bool {
        guard let fingerprint = link.fingerprint, let listener = link.listener else { return true }
        guard let key = world.store.keys[fingerprint], key.isValid(now: world.store.time),
            !key.roles.isDisjoint(with: Self.roles(frame.kind, at: listener))
        else { return false }
        guard case .hello(let hello) = frame else { return true }
        let id: UniqueID
        switch hello.role {
        case .client(let session): id = session
        case .worker(let offer):
            if let queues = key.queues, !queues.isSuperset(of: offer.queues) { return false }
            id = offer.id
        }
        guard let owner = reference.keys.owner(of: id), owner.name != key.name else { return true }
        link.standing.hasClaimed = true
        return false
    }

    /// The table of docs/protocol.md.
    private static func roles(_ kind: FrameKind, at listener: Listener?) -> Set<Role> {
        switch (listener, kind) {
        case (.front, .send), (.front, .settle), (.front, .outputsRequest): [.client]
        case (nil, .view), (.front, .hello), (.front, .ping), (.front, .goodbye), (.front, .viewRequest), (.front, .viewsRequest):
            [.viewer, .client, .operator]
        case (.work, .hello), (.work, .ping), (.work, .credit), (.work, .result), (.work, .progress), (.work, .drain),
            (.work, .goodbye):
            [.worker]
        case (.admin, .request): [.operator]
        default: []
        }
    }

    /// Whether a peer has business at its door.
    private func isAdmitted(_ link: Link, by table: KeyTable, at time: Timestamp) -> Bool {
        guard let key = link.fingerprint.flatMap({ table[$0] }), key.isValid(now: time) else { return false }
        let kind: FrameKind = link.listener == nil ? .view : link.listener == .admin ? .request : .hello
        return !key.roles.isDisjoint(with: Self.roles(kind, at: link.listener))
    }

    /// The same now, or before this round of the store.
    private func wasAdmitted(_ link: Link) -> Bool {
        let store = world.store
        return isAdmitted(link, by: store.keys, at: store.time) || isAdmitted(link, by: store.former.keys, at: store.former.time)
    }

    // MARK: What leaves the store

    func requireMayHear(_ frame: Frame, on link: Link?) throws(Violation) {
        if case .welcome = frame { link?.standing.isKnown = true }
        if case .error(let error) = frame, let link { sends(error, on: link) }
        guard let link, let fingerprint = link.fingerprint, frame != .goodbye, !world.store.isStopped else { return }
        if case .error(let error) = frame { return try requireReason(error, on: link, fingerprint) }
        try require(
            !link.standing.isRefused && (link.listener == .admin || wasAdmitted(link)), .i22,
            expected: "nothing for \(link.peer.name), whose key \(fingerprint) is refused", seen: "\(frame.kind)")
        let reasons = Self.reasons[frame.kind] ?? [.hello]
        try require(
            !link.standing.done.isDisjoint(with: reasons) && (frame.kind != .welcome || link.standing.welcomesDue > 0),
            frame.kind == .welcome && link.standing.hasClaimed ? .i23 : .i21,
            expected: "only ERROR for \(link.peer.name), which may not do what that answers with \(fingerprint)",
            seen: "\(frame.kind)")
        switch frame {
        case .welcome:
            link.standing.welcomesDue -= 1
            guard link.listener == .work, let id = link.standing.greeted else { break }
            reference.keys.hear(id, link.standing.greetedAt)
            if reference.keys.workerSenders[id, default: []].count > 1 { reference.count(.workerRenewed) }
        case .settled, .outputs:
            // What it was answered before may wait for the disk.
            try require(
                world.store.demotions[fingerprint].map { $0 > world.store.heard } ?? true, .i21,
                expected: "neither outputs nor the end of a turn for \(link.peer.name), whose key \(fingerprint) is for no client",
                seen: "\(frame.kind)")
        case .task(let tasks, _): try requireQueues(tasks, link, fingerprint)
        case .reply(let reply) where link.peer === world.keyKeeper: try requireReading(reply)
        default: break
        }
    }

    /// Which frames each kind answers, if not HELLO.
    private static let reasons: [FrameKind: Set<FrameKind>] = [
        .pong: [.ping], .receipt: [.send], .settled: [.settle], .waiting: [.settle, .viewRequest, .viewsRequest],
        .view: [.viewRequest, .viewsRequest], .views: [.viewsRequest], .outputs: [.outputsRequest], .reply: [.request],
    ]

    private func requireQueues(_ tasks: [JobTask], _ link: Link, _ fingerprint: Fingerprint) throws(Violation) {
        for task in tasks {
            guard let queue = reference.open[task.effect]?.queue else { continue }
            let tables = [world.store.keys, world.store.former.keys]
            try require(
                tables.contains { $0[fingerprint].map { $0.queues?.contains(queue) ?? true } ?? false }, .i21,
                expected: "no effect of queue \(queue) for \(link.peer.name), whose key is not for it", seen: "lease \(task.lease)")
        }
    }

    private func requireReading(_ reply: AdminReply) throws(Violation) {
        let count = world.store.keys.keys.count
        try require(
            reply.refusal != nil ? !world.store.hasRead : reply.value["keys"] == .int(Int64(count)), .i26,
            expected: "to be told that \(count) keys are in force, which could\(world.store.hasRead ? "" : " not") be read",
            seen: reply.refusal ?? "\(reply.value)")
    }

    /// Nobody is sent away by a table that is not in force.
    private func requireReason(_ error: PeerError, on link: Link, _ fingerprint: Fingerprint) throws(Violation) {
        let key = world.store.keys[fingerprint].flatMap { $0.isValid(now: world.store.time) ? $0 : nil }
        switch error.code {
        case .keyRefused:
            try require(key == nil, .i26, expected: "the key \(fingerprint) of \(link.peer.name) to be good", seen: "\(error)")
            link.standing.isRefused = true
            reference.count(.keyRefused)
        case .forbidden:
            let queues = (link.peer as? WorkerProcess)?.queues ?? []
            let isGood =
                isAdmitted(link, by: world.store.keys, at: world.store.time) && key?.queues?.isSuperset(of: queues) ?? true
            try require(
                link.standing.hasTransgressed || !isGood || link.peer === world.intruder, .i26,
                expected: "\(link.peer.name) to be heard, whose key \(fingerprint) allows what it does", seen: "\(error)")
            reference.count(.forbidden)
        default: break
        }
    }

    private func sends(_ error: PeerError, on link: Link) {
        switch error.code {
        case .superseded, .unknownPeer: link.standing.isKnown = false
        case .forbidden: if let client = link.peer as? ClientProcess { sentAway.insert(client.session) }
        // It may hear of it in another timeline, in which its session never was.
        case .sessionExpired: if let client = link.peer as? ClientProcess, hasLost(client) { sentAway.insert(client.session) }
        case .retryLater where link.listener == .work:
            link.standing.isKnown = false
            // A worker that comes while the disk is full is not silent, if the store knows it.
            guard error.text.contains("disk"), let id = link.standing.greeted, let heard = reference.keys.heard[id]?.last,
                heard >= world.store.startInstant
            else { return }
            reference.keys.hear(id, link.standing.greetedAt)
        default: break
        }
    }

    /// Whoever hears views may.
    func requireHearers(_ frame: Frame) throws(Violation) {
        guard frame != .goodbye, !world.store.isStopped else { return }
        for link in world.network.subscriptions where link.isRemote {
            try require(
                wasAdmitted(link), .i22, expected: "no views for \(link.peer.name), whose key is refused", seen: "\(frame.kind)")
        }
    }

    // MARK: Records

    /// The journal says with which key something came, and that key was good for it.
    func requireSender(_ record: Record) throws(Violation) {
        switch (record.origin, record.event) {
        case (.client, .sessionExpired): break
        case (.client(let session, let sequence), _):
            let senders = reference.keys.senders[session]?[sequence] ?? []
            return try requireSender(record, senders, .client, of: session)
        case (_, .workerJoined(let id)):
            return try requireSender(record, reference.keys.workerSenders[id] ?? [], .worker, of: id)
        case (.operator, _):
            let senders = world.operatorProcess?.errands.reduce(into: Set<Sender?>()) { $0.formUnion($1.senders) } ?? []
            return try requireSender(record, senders, .operator, of: nil)
        default: break
        }
        try require(record.sender == nil, .i24, expected: "nobody's key at turn \(record.turn)", seen: "\(record)")
    }

    private func requireSender(
        _ record: Record, _ senders: Set<Sender?>, _ role: Role, of id: UniqueID?
    ) throws(Violation) {
        guard world.keyKeeper != nil else {
            return try require(record.sender == nil, .i24, expected: "nobody's key at turn \(record.turn)", seen: "\(record)")
        }
        if let sender = record.sender {
            let key = reference.keys.key(of: sender, at: record)
            try require(key != nil, .i22, expected: "nothing of the key of \(sender), which is refused", seen: "\(record)")
            try require(
                key?.roles.contains(role) ?? false, .i21, expected: "nothing of the key of \(sender), which is for no \(role)",
                seen: "\(record)")
        }
        if let id {
            let owner = KeyBook.Owner(name: record.sender?.name)
            let known = reference.keys.owner(of: id) ?? owner
            try require(
                owner == known, .i23, expected: "\(id) to belong to \(known.name.map { "\($0)" } ?? "nobody's key")",
                seen: "\(record)")
            reference.keys.owners[id] = owner
        }
        try require(
            senders.contains(record.sender), .i24, expected: "the key of whoever has sent it: \(senders)", seen: "\(record)")
        if record.sender != nil { reference.count(role == .operator ? .operatorSigned : .signed) }
    }

    /// Whether the key of a record's sender allows this input.
    func allows(_ input: ClientProcess.Input, _ record: Record) -> Bool {
        guard let allowed = record.sender.flatMap({ reference.keys.key(of: $0, at: record) })?.inputs else { return true }
        return input.caseName.map(allowed.contains) ?? false
    }

    // MARK: Names

    /// Its name has no key any more.
    func isRevoked(_ session: SessionID, at turn: Int) -> Bool {
        guard let name = reference.keys.owners[session]?.name else { return false }
        return reference.keys.isRevoked(name, at: turn)
    }

    /// All that the store has made is on disk, so that no session is left whose name has no key.
    func requireOwners() throws(Violation) {
        guard world.keyKeeper != nil else { return }
        for session in reference.fates.keys.sorted() where !reference.isOver(session) {
            try require(
                !isRevoked(session, at: reference.last + 1), .i25,
                expected: "the end of session \(session), for there is no key of its name any more", seen: "it goes on")
        }
    }

    /// A worker that lives is kept as long as its name has a key that is good for what it does, whichever of its keys that is. At an orderly
    /// stop those leave that hold nothing.
    func requireReason(toLeave id: WorkerID, _ record: Record) throws(Violation) {
        defer { reference.keys.leave(id) }
        // Before it has come back after a start, an earlier start counts, and the wall clock.
        let (made, before) = (reference.instant(of: record.time), reference.before(record.time))
        guard world.keyKeeper != nil, !world.swarm.isHarsh, !world.store.isStopped, !reference.keys.farewells.contains(id),
            let worker = world.workers.first(where: { $0.id == id && $0.isUp }),
            let heard = reference.keys.heard[id]?.filter({ $0 <= before }).max(), heard >= reference.startInstant
        else { return }
        let silence = made - heard
        var isKept = true
        if let name = reference.keys.owners[id]?.name {
            isKept = reference.keys.keys(of: name, at: record).contains {
                $0.roles.contains(.worker) && $0.queues?.isSuperset(of: worker.queues) ?? true
            }
        }
        try require(
            !isKept || silence >= world.swarm.store.silence.microseconds * 9 / 10, .i25,
            expected: "\(worker.name) to keep its jobs, which was heard of \(describe(silence)) s ago and has a good key",
            seen: "\(record)")
    }
}
