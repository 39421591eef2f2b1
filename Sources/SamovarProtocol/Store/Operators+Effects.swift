import MessagePack
import SamovarCore

extension Operators {
    /// The effects that are open or dead, for `effects`: at most 1,000 of either, the oldest first, and no more payload than fits a reply.
    func describe(_ ledger: EffectLedger, _ dispatcher: Dispatcher) -> MessagePackValue {
        let open = shown(ledger.open.values.sorted { $0.id < $1.id }, \.payload).map { effect in
            let holder = dispatcher.assignment(of: effect.id)
            return describe(
                effect,
                [
                    MessagePackPair("status", holder == nil ? "waiting" : "running"),
                    MessagePackPair("worker", holder.map { .string("\($0.worker)") } ?? .nil),
                    MessagePackPair("progress", dispatcher.progress(of: effect.id)?.shown ?? .nil),
                    MessagePackPair("streamed", .number(effect.place?.index ?? 0)),
                ])
        }
        let dead = shown(ledger.dead.values.sorted { $0.effect.id < $1.effect.id }, \.effect.payload).map { dead in
            describe(
                dead.effect,
                [MessagePackPair("status", "dead"), MessagePackPair("failure", .string("\(dead.failure)"))])
        }
        return [
            "openCount": .number(ledger.open.count), "deadCount": .number(ledger.dead.count), "open": .array(open),
            "dead": .array(dead),
        ]
    }

    private func shown<Entry>(_ entries: [Entry], _ payload: (Entry) -> [UInt8]) -> ArraySlice<Entry> {
        var room = settings.adminReplyBytes
        return entries.prefix(1_000).prefix {
            room -= payload($0).count
            return room >= 0
        }
    }

    private func describe(_ effect: OpenEffect, _ more: [MessagePackPair]) -> MessagePackValue {
        let common: [MessagePackPair] = [
            MessagePackPair("effect", .string("\(effect.id)")),
            MessagePackPair("queue", .string(effect.queue.name.bounded())),
            MessagePackPair("root", .number(effect.root)),
            MessagePackPair("failures", .number(effect.failures)),
            MessagePackPair("deaths", .number(effect.deaths)),
            MessagePackPair("payload", MessagePackValue(shown: effect.payload)),
        ]
        return .map(common + more)
    }
}

extension JobProgress {
    var shown: MessagePackValue {
        ["fraction": fraction.map { .double($0) } ?? .nil, "text": text.map { .string($0) } ?? .nil]
    }
}
