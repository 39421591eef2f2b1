import Journal
import SamovarStore

/// What goes wrong, and when.
extension World {
    func planFaults() {
        guard crash == nil else { return }
        network.isHarsh = swarm.isHarsh
        for fault in Fault.allCases where swarm.has(fault) {
            if fault.interval != nil { plan(fault) }
        }
        planDatabaseFaults()
    }

    private func plan(_ fault: Fault) {
        let time = now + random.time(0...Instant(Double(fault.interval ?? 0) / swarm.pace * 2))
        plan(.happen { [unowned self] () throws(Violation) in try happen(fault) }, at: time)
    }

    private func happen(_ fault: Fault) throws(Violation) {
        guard isFaulty else { return }
        plan(fault)
        switch fault {
        case .storeCrash:
            let store = someStore
            guard store.isUp, !store.isPaused else { return }
            storeFuse = random.number(0...60)
        case .storePause: someStore.pause(until: now + random.pick([100, 1_000, 4_000, 8_000, 15_000]) * milliseconds)
        case .workerCrash: workerDied(random.pick(workers), "killed")
        case .workerPause: random.pick(workers).pause(until: now + random.pick([100, 2_000, 7_000, 15_000]) * milliseconds)
        case .clientCrash: clientEnded(random.pick(clients), "killed")
        case .clientPause: random.pick(clients).pause(until: now + random.pick([100, 2_000, 7_000, 15_000]) * milliseconds)
        case .storeDrain: if store.isUp { store.drain(within: swarm.store.drain) }
        case .workerDrain: random.pick(workers).drain()
        case .linkBreak, .halfOpen: breakSomeLink(isNoticed: fault == .linkBreak)
        case .cut: cut([.toStore, .toPeer])
        case .oneWayCut: cut([random.pick([.toStore, .toPeer])])
        case .congestion:
            network.delay = random.time(100...1_500) * milliseconds
            plan(
                .happen { [unowned self] in network.delay = isFaulty ? swarm.delay : milliseconds },
                at: now + random.time(1...5) * seconds)
        case .forgery: return random.pick(workers).forge()
        default: return try damage(fault)
        }
        count(fault)
    }

    private func damage(_ fault: Fault) throws(Violation) {
        switch fault {
        case .diskSlow:
            diskDelay = random.time(50...2_000) * milliseconds
            plan(.happen { [unowned self] in diskDelay = 0 }, at: now + random.time(1...10) * seconds)
        case .diskFull:
            disk.isFull = true
            plan(.happen { [unowned self] in disk.isFull = false }, at: now + random.time(1...15) * seconds)
        case .syncError:
            let error = JournalError(.inputOutput, "The simulated disk cannot sync.")
            disk.failure = (error, isKept: random.chance(0.5))
        case .batchRot:
            guard disk.batchCount > 0 else { return }
            disk.rot(batch: random.number(0...disk.batchCount - 1))
            try storeDied(store, "killed, and a block of its disk rots")
        case .snapshotRot, .snapshotGarbled:
            guard disk.snapshotCount > 0 else { return }
            let index = disk.snapshotCount - 1
            if fault == .snapshotRot { disk.rot(snapshot: index) } else { disk.garble(snapshot: index) }
            try storeDied(store, "killed, and its newest snapshot is damaged")
        case .freshTimeline:
            try storeDied(store, "killed, for its journal is given up")
            // Counted there.
            return beginAnew()
        default: preconditionFailure("\(fault) does not happen by itself")
        }
        count(fault)
    }

    private func breakSomeLink(isNoticed: Bool) {
        let links = network.openLinks
        guard !links.isEmpty else { return }
        let link = random.pick(links)
        note("link \(link.id) of \(link.peer.name) breaks\(isNoticed ? "" : ", unnoticed")")
        network.breakLink(link, isNoticed: isNoticed)
    }

    private func cut(_ directions: [Direction]) {
        let peer: Process = random.chance(0.5) ? random.pick(workers) : random.pick(clients)
        let end = now + random.pick([500, 3_000, 8_000, 30_000]) * milliseconds
        for direction in directions {
            note("\(peer.name) is cut off \(direction) until \(describe(end))")
            network.cut(peer, direction)
            plan(.happen { [unowned self] in network.mend(peer, direction) }, at: end)
        }
    }

    /// Everything works again; only what is broken in the processes themselves is still broken.
    func heal() throws(Violation) {
        note("everything heals")
        isFaulty = false
        storeFuse = nil
        network.delay = milliseconds
        diskDelay = 0
        disk.isFull = false
        disk.failure = nil
        disk.repair()
        if network.isHarsh {
            // What such a network lost inside of a connection, only another connection brings back.
            network.isHarsh = false
            for link in network.openLinks { network.breakLink(link, isNoticed: true) }
        }
        healDatabase()
        var processes: [Process] = stores
        processes += workers as [Process]
        processes += clients as [Process]
        processes += [operatorProcess, keyKeeper, intruder].compactMap(\.self)
        for process in processes {
            network.mend(process, .toStore)
            network.mend(process, .toPeer)
            if process.isPaused { try process.resume() }
        }
    }
}
