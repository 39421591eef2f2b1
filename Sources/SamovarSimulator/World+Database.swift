import Journal

/// A database under two stores: what goes wrong with it, and what must hold.
extension World {
    /// After the faults, one store has the journal within this time.
    static let takeover = 15 * seconds

    func makeDatabase() -> Database {
        let database = Database { [unowned self] in
            now
        } later: { [unowned self] body in
            plan(.happen(body), at: now + databaseRandom.time(1...3_000) * milliseconds)
        }
        database.fate = { [unowned self] _ in
            guard isFaulty, swarm.databaseFaults.contains(.answersLost), databaseRandom.chance(0.05) else { return .done }
            count(DatabaseFault.answersLost)
            return databaseRandom.pick([.lostBefore, .lostAfter, .late])
        }
        database.confirmed = { [unowned self] in durable($0, epoch: $1, by: $2) }
        database.taken = { [unowned self] store, epoch, wasVacant in
            note("database: \(name(store)) takes the journal with epoch \(epoch)")
            // A process that has served with an epoch before is gone once it does so no more.
            let isDead = stores.allSatisfy { $0.number == store || $0.start != epoch - 1 }
            guard !wasVacant, !isDead else { return }
            deferred = Violation(
                invariant: .i27, time: now, expected: "a journal to be taken that nobody has",
                seen: "\(name(store)) takes it with epoch \(epoch)")
        }
        return database
    }

    func name(_ store: Int) -> String { stores[store].name }

    func nonce() -> [UInt8] { (0..<8).map { _ in UInt8(databaseRandom.number(0...255)) } }

    /// What a call takes to the database, or its answer back.
    func databaseTime() -> Instant { databaseRandom.about(isFaulty ? swarm.databaseDelay : milliseconds) + 10 }

    func count(_ fault: DatabaseFault) { report.databaseFaults[fault.rawValue] += 1 }

    /// One at random, where there are two.
    var someStore: StoreProcess { stores.count == 1 ? store : databaseRandom.pick(stores) }

    // MARK: Faults

    func planDatabaseFaults() {
        guard database != nil else { return }
        for fault in DatabaseFault.allCases where swarm.databaseFaults.contains(fault) && fault.interval != nil {
            plan(fault)
        }
    }

    private func plan(_ fault: DatabaseFault) {
        let time = now + databaseRandom.time(0...Instant(Double(fault.interval ?? 0) / swarm.pace * 2))
        plan(.happen { [unowned self] () throws(Violation) in try happen(fault) }, at: time)
    }

    private func happen(_ fault: DatabaseFault) throws(Violation) {
        guard isFaulty, let database else { return }
        plan(fault)
        // A tail that is lost has to be noticed, which takes a store that can.
        guard lost == nil else { return }
        let victim = databaseRandom.pick(stores)
        let end = now + databaseRandom.pick([500, 3_000, 8_000, 20_000]) * milliseconds
        switch fault {
        case .powerLoss:
            guard victim.isUp else { return }
            try storeDied(victim, Self.powerLoss)
        case .longPause:
            guard victim.isUp, !victim.isPaused else { return }
            victim.pause(until: now + databaseRandom.pick([9, 12, 20]) * seconds)
        case .databaseCut:
            note("\(victim.name) is cut off from the database until \(describe(end))")
            database.cutOff.insert(victim.number)
            if databaseRandom.chance(0.5) { unlock(victim, after: databaseRandom.time(100...3_000) * milliseconds) }
            plan(.happen { database.cutOff.remove(victim.number) }, at: end)
        case .peersCut:
            note("\(victim.name) is cut off from its peers until \(describe(end))")
            for direction in [Direction.toStore, .toPeer] {
                network.cut(victim, direction)
                plan(.happen { [unowned self] in network.mend(victim, direction) }, at: end)
            }
        case .handOver:
            guard let waiting = stores.first(where: { $0.isUp && !$0.isPaused && $0.succession?.followed != nil }) else { return }
            note("\(waiting.name) shall have the journal")
            waiting.succession?.handOver()
        case .databaseAway:
            note("the database is away until \(describe(end))")
            database.isAway = true
            plan(.happen { database.isAway = false }, at: end)
        case .failOver:
            note("another server takes the place of the database")
            database.failOver(losing: 0, skew: databaseRandom.time(-2...2) * seconds)
            tellOfServer()
        case .lossyFailOver: guard lose(database) else { return }
        case .replicaAway:
            database.isReplicaAway = true
            plan(
                .happen {
                    database.isReplicaAway = false
                    database.replicate()
                }, at: end)
        case .answersLost: return
        }
        count(fault)
    }

    /// The sessions of stores end with their server, which they notice or not.
    private func tellOfServer() {
        for store in stores where databaseRandom.chance(0.7) {
            plan(for: store, at: now + databaseRandom.time(1...500) * milliseconds) {
                if store.isUp { store.succession?.hurry() }
            }
        }
    }

    /// Loses the newest batch, if both stores know of it and can notice. A writer that has no answer yet would just write it again.
    private func lose(_ database: Database) -> Bool {
        let end = database.contents.row.end.last
        let isKnown = stores.allSatisfy { store in
            store.isUp && !store.isPaused && database.isReached(by: store.number)
                && (store.succession?.followed ?? store.succession?.journal?.last) == end
        }
        guard isKnown, store.start == database.contents.row.epoch, !database.hasUnconfirmed, database.contents.batches.count > 1
        else { return false }
        note("another server takes the place of the database, without the newest batch")
        (lost, lostSince) = (database.contents, now)
        database.failOver(losing: 1, skew: databaseRandom.time(-2...2) * seconds)
        tellOfServer()
        return true
    }

    private func restoreDatabase() {
        guard let former = lost.take() else { return }
        note("somebody brings back what the database has lost")
        restored = now
        database?.restore(former)
    }

    func healDatabase() {
        guard let database else { return }
        restoreDatabase()
        database.isAway = false
        database.cutOff = []
        database.isReplicaAway = false
        database.replicate()
    }

    // MARK: Ends

    static let powerLoss = "its machine has lost power"

    /// One of two stores has ended.
    func died(_ store: StoreProcess, _ succession: Succession, _ reason: String) throws(Violation) {
        if let batch = store.appending, databaseRandom.chance(0.5) { succession.journal?.abandon(batch) }
        let hasPower = reason != Self.powerLoss
        forgetFuse()
        store.die(reason)
        network.ended(store, isNoticed: hasPower)
        report.restarts += 1
        if hasPower { unlock(store, after: databaseRandom.time(1...50) * milliseconds) }
        // A machine without power is a fault, too, and ends with the others.
        let latest = max(0, faultsEnd - now) + 3 * seconds
        let pause = hasPower ? databaseRandom.time(1...500) * milliseconds : min(databaseRandom.time(5...20) * seconds, latest)
        planStart(of: store, at: now + pause)
        restoreDatabase()
    }

    private func unlock(_ store: StoreProcess, after pause: Instant) {
        let lock = database?.lockNumber(store.number) ?? 0
        plan(.happen { [unowned self] in database?.unlock(store.number, ifStill: lock) }, at: now + pause)
    }

    /// A store says that the database has lost turns.
    func lostTail(_ store: StoreProcess, _ text: String) throws(Violation) {
        // What was read, or taken, before the replica had it may be gone: nobody was told of it.
        let isUntold = store.start == 0 || database.map { $0.contents.row.epoch < store.start } ?? false
        // An answer may have been on its way while it was brought back.
        let isKnown = lost != nil || store.startInstant <= restored
        try checker.require(
            isKnown || isUntold, .i28, expected: "a journal that has all that was confirmed", seen: "\(store.name): \(text)")
        if isKnown { checker.reference.count(.tailLost) }
        try storeDied(store, "a lost tail: \(text)")
    }

    // MARK: What must hold

    func requireWhole(_ batch: Batch) throws(Violation) {
        try checker.require(
            lost == nil, .i28, expected: "nothing to be written behind a lost tail",
            seen: "a batch of turns \(batch.first) to \(batch.last)")
    }

    func requireOneOwner() throws(Violation) {
        guard database != nil else { return }
        try checker.require(
            lost == nil || now - lostSince < Self.takeover, .i28, expected: "the owner to notice a lost tail", seen: "it serves")
        guard !isFaulty, now >= faultsEnd + Self.takeover else { return }
        let owners = stores.filter { $0.isUp && $0.isServing && $0.succession?.isInDoubt == false }
        try checker.require(
            owners.count == 1 && owners.first === store, .i27, expected: "one store to serve, 15 s after the faults",
            seen: "\(owners.map(\.name))")
    }
}
