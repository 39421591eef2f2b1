import MessagePack
import SamovarCore

/// What operators ask, over the admin socket. Everything that tells of turns passes the gate, like any other answer.
extension StoreMachine {
    mutating func receivedAtAdmin(_ envelope: Envelope, from route: Route, now: Timestamp) {
        guard case .request(let request) = envelope.frame else {
            return misuse("\(envelope.frame.kind) is not for the admin socket", route)
        }
        do throws(AdminRefusal) {
            let value = try answer(request, now: now)
            send(.reply(AdminReply(id: request.id, value: value)), to: route, floor: .turn(head))
        } catch {
            send(.reply(AdminReply(id: request.id, refusal: error.text)), to: route, floor: .turn(head))
        }
    }

    private mutating func answer(_ request: AdminRequest, now: Timestamp) throws(AdminRefusal) -> MessagePackValue {
        switch request.verb {
        case "status": return status(now: now)
        case "inspect": return try inspect()
        case "effects": return effects()
        case "requeue":
            let id = try effect(of: request)
            guard state.ledger.dead[id] != nil else { throw AdminRefusal(text: "effect \(id) is not dead") }
            write(.requeued(id), origin: .operator, now: now)
            if let effect = state.ledger.open[id] { dispatcher.enqueue(effect, now: now) }
            return ["requeued": .string("\(id)")]
        case "drop":
            let id = try effect(of: request)
            guard state.ledger.dead[id] != nil || state.ledger.open[id] != nil else {
                throw AdminRefusal(text: "effect \(id) is neither open nor dead")
            }
            if let holder = dispatcher.forget(id), let holding = dispatcher.workers[holder.worker]?.route {
                cancellations.append(holder.lease, for: holding)
            }
            write(.dropped(id), origin: .operator, now: now)
            return ["dropped": .string("\(id)")]
        case "drain":
            drain(within: settings.drain, now: now)
            return ["draining": true]
        default:
            throw AdminRefusal(text: "unknown request \(request.verb); there are status, inspect, effects, requeue, drop, drain")
        }
    }

    private mutating func inspect() throws(AdminRefusal) -> MessagePackValue {
        if let why = suspects.verdict(on: .state) { throw AdminRefusal(text: "the state cannot be encoded: \(why)") }
        begin(.state)
        defer { end(.state) }
        do {
            var reader = MessagePackReader(try state.engine.state(), limits: MessagePackLimits(maximumBytes: .max))
            return ["turn": .int(Int64(head)), "instance": .string(instance.key), "state": try reader.readValue()]
        } catch {
            throw AdminRefusal(text: "the state cannot be encoded: \(error)")
        }
    }

    /// The argument `turn/ordinal` of a request.
    private func effect(of request: AdminRequest) throws(AdminRefusal) -> EffectID {
        guard case .string(let text) = request.arguments["effect"] else {
            throw AdminRefusal(text: "which effect? name it as turn/ordinal")
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let turn = Int(parts[0]), let ordinal = Int(parts[1]) else {
            throw AdminRefusal(text: "“\(text)” is not an effect; name it as turn/ordinal, as `effects` lists them")
        }
        return EffectID(turn: turn, ordinal: ordinal)
    }
}

private struct AdminRefusal: Error {
    let text: String
}
