import MessagePack
public import SamovarCore
public import SamovarWire

/// Keys come and go while the store runs.
extension StoreMachine {
    /// The host has read the table of keys, for an operator or because it was told to. What it reads before the start is the table of the start.
    ///
    /// Who may not be here any more is told so and is here no more: connections end, workers give back what they hold, and the sessions of a name
    /// that has no key left end by record.
    ///
    /// - Parameter read: why there is no table; the one before stays.
    public mutating func keysRead(_ read: Result<KeyTable, KeyTableError>, now: Timestamp) {
        if phase == .recovering, case .success(let table) = read { access.replace(table) }
        guard isRunning else { return }
        let now = time(now)
        defer { answerKeyRequests(read) }
        switch read {
        case .success(let table):
            let former = access.keys
            access.replace(table)
            out.note(.info, "\(count(table.keys.count, "key")) may come over the network")
            enforceKeys(former: former, since: access.looked, now: now)
        case .failure(let error): out.note(.error, "the keys are as they were: \(error)")
        }
    }

    /// An operator has changed the table. Nothing is told of turns, so the answer waits for the host only.
    mutating func askForKeys(_ request: AdminRequest, from route: Route, by identity: Identity) {
        guard waiting.keys.count < settings.waiters else { return out.refuse(route, "too many requests wait") }
        waiting.keys.append((request.id, route, identity))
        out.emit(.readKeys, floor: .none)
    }

    private mutating func answerKeyRequests(_ read: Result<KeyTable, KeyTableError>) {
        for (id, route, _) in waiting.keys {
            let reply =
                switch read {
                case .success(let table): AdminReply(id: id, value: ["keys": .number(table.keys.count)])
                case .failure(let error): AdminReply(id: id, refusal: "the keys are as they were: \(error)")
                }
            out.send(.reply(reply), to: route, floor: .none)
        }
        waiting.keys.removeAll()
    }

    mutating func expireKeys(now: Timestamp) {
        guard now >= access.nextExpiry else { return }
        let last = access.looked
        access.look(now: now)
        enforceKeys(former: access.keys, since: last, now: now)
    }

    /// The table may be another than before this start. A store without keys knows of no names.
    mutating func enforceKeysOfStart(now: Timestamp) {
        if !access.keys.keys.isEmpty { enforceKeys(former: access.keys, since: now, now: now) }
    }

    /// Whoever was sent views has less of its budget.
    mutating func payForViews(now: Timestamp) {
        for (route, bytes) in out.takeViewBytes() {
            guard let identity = clients.connections.identity(at: route) else { continue }
            access.spend(viewBytes: bytes, identity, now: now)
        }
    }

    /// - Parameter former: the table at the time `since`.
    private mutating func enforceKeys(former: KeyTable, since: Timestamp, now: Timestamp) {
        let access = access
        let names = Set(access.keys.keys.map(\.name))
        // A fingerprint may have moved to another name, to which nothing of the former one belongs.
        func objection(_ identity: Identity, _ roles: Set<Role>, owner: KeyName?, of what: String) -> PeerError? {
            access.objection(to: identity, roles, "this socket", now: now)
                ?? (access.sender(identity)?.name == owner ? nil : .notYours(what))
        }
        clients.enforce(
            { objection($0, Door.front.roles, owner: $1, of: "session") },
            mayStillSend: { access.objection(to: $0, [.client], "send", now: now) == nil },
            isRevoked: { !names.contains($0) }, now: now, &readers, &turns, &out)
        workers.enforce(
            { objection($0, Door.work.roles, owner: $2, of: "worker's identity") ?? access.objection(to: $1, by: $0) },
            isRenewed: { access.admitsWorker($0, $1, now: now) }, now: now, &scheduler, &turns, &out)
        for (route, asker) in waiting.answers.sorted(by: { $0.key < $1.key }) {
            guard let error = access.objection(to: asker.identity, Door.admin.roles, "this socket", now: now) else { continue }
            out.close(route, error)
            waiting.answers[route] = nil
        }
        for (_, route, identity) in waiting.metrics + waiting.keys {
            guard let error = access.objection(to: identity, Door.admin.roles, "this socket", now: now) else { continue }
            out.close(route, error)
        }
        waiting.metrics.removeAll { access.objection(to: $0.identity, Door.admin.roles, "this socket", now: now) != nil }
        waiting.keys.removeAll { access.objection(to: $0.identity, Door.admin.roles, "this socket", now: now) != nil }
        let viewers = former.keys.filter { former.admits($0.fingerprint, at: .view, now: min(since, now)) }
        if viewers.contains(where: { !access.keys.admits($0.fingerprint, at: .view, now: now) }) {
            out.emit(.reopenViews, floor: .none)
        }
    }
}
