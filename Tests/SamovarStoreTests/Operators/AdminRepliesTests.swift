import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What an operator who asks again is told.
@Suite struct AdminRepliesTests {
    private func request(_ id: Int, _ verb: String = "drop") -> AdminRequest { AdminRequest(id: id, verb: verb, arguments: .nil) }

    private func kept(_ ids: ClosedRange<Int>) -> AdminReplies {
        var replies = AdminReplies()
        for id in ids { replies.keep(AdminReply(id: id, value: .int(Int64(id))), to: request(id), by: nil, now: at(0)) }
        return replies
    }

    @Test func `The same request is known for a minute, and another one never`() {
        var replies = kept(1...2)
        #expect(replies.reply(to: request(2), by: nil, now: at(60))?.value == .int(2))
        #expect(
            replies.reply(to: request(2, "requeue"), by: nil, now: at(60)) == nil
                && replies.reply(to: request(3), by: nil, now: at(60)) == nil)
        #expect(replies.reply(to: request(2), by: nil, now: at(60) + .microseconds(1)) == nil)
    }

    @Test func `A request is known of the key that made it, also when that is renewed, and of no other`() {
        func sender(_ name: String, _ number: UInt64) -> Sender { Sender(name: named(name), fingerprint: fingerprint(number)) }
        let reply = AdminReply(id: 1, value: .int(1))
        var replies = AdminReplies()
        replies.keep(reply, to: request(1), by: sender("office", 1), now: at(0))
        #expect(replies.reply(to: request(1), by: sender("office", 2), now: at(1)) == reply)
        #expect(
            replies.reply(to: request(1), by: sender("desk", 1), now: at(1)) == nil
                && replies.reply(to: request(1), by: nil, now: at(1)) == nil)
    }

    @Test func `So many are known, the newest`() {
        var full = kept(1...256)
        #expect(full.reply(to: request(1), by: nil, now: at(1)) != nil)
        var fuller = kept(1...257)
        #expect(
            fuller.reply(to: request(1), by: nil, now: at(1)) == nil && fuller.reply(to: request(2), by: nil, now: at(1)) != nil)
    }
}
