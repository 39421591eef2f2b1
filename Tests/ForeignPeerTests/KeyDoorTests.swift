import Foundation
import MessagePack
import ProcessSupport
import Testing
import ZeroMQ

/// Who comes in at which door of a store with keys, by real sockets: nobody does or hears anything there for whom it is not, and with the
/// same code somebody does for whom it is.
@Suite struct KeyDoorTests {
    enum Stranger: String, CaseIterable {
        /// ZMTP's NULL.
        case nobody
        /// ZMTP's PLAIN.
        case password
        case unknown, revoked, expired
        case viewer, client, worker, `operator`

        /// How it is sent away; nil where it has business.
        func refusal(at door: Door) -> KeyDoorTests.Refusal? {
            switch (self, door) {
            case (.viewer, .view), (.client, .view), (.operator, .view), (.client, .front), (.worker, .work), (.operator, .admin):
                nil
            // These may come in there, to ask for views.
            case (.viewer, .front), (.operator, .front): .frame
            case (.nobody, _), (.password, _): .mechanism
            default: .key
            }
        }
    }

    enum Refusal {
        /// The frame is refused.
        case frame
        /// The key is.
        case key
        /// Whoever has none is. Which of the two sides notices first is chance.
        case mechanism

        func isThis(_ outcome: Visitor.Outcome) -> Bool {
            switch self {
            case .frame: outcome == .refused(.forbidden)
            case .key: outcome == .turnedAway(.refused)
            case .mechanism: outcome == .turnedAway(.misunderstood) || outcome == .turnedAway(.unanswered)
            }
        }
    }

    private func proof(of stranger: Stranger, at store: GuardedStore) throws -> Visitor.Proof {
        switch stranger {
        case .nobody: .security(.none)
        case .password: .password
        case .unknown: .security(try store.strangersProof())
        default: .security(try store.proof(stranger.rawValue))
        }
    }

    private func expectNoChange(
        since facts: Facts, _ place: String = "", in store: GuardedStore, at location: SourceLocation = #_sourceLocation
    ) async throws {
        let changes = try await store.facts().changes(since: facts)
        #expect(changes.isEmpty, "\(place) \(changes)", sourceLocation: location)
    }

    /// Whoever has business at a door.
    private func guest(_ door: Door, _ store: GuardedStore) throws -> Visitor {
        let roles: [Door: String] = [.front: "client", .work: "worker", .view: "viewer", .admin: "operator"]
        return try Visitor(store.address(door), door, .security(try store.proof(try #require(roles[door]))))
    }

    // MARK: Those who come

    @Test(arguments: Stranger.allCases)
    func `Whoever has no business at a door does nothing and hears nothing there`(stranger: Stranger) async throws {
        let store = try await GuardedStore(keys: "revoked", "expired")
        if stranger == .revoked { try await store.revoke("revoked") }
        if stranger == .expired { try await store.expire("expired") }
        let audience = try await Audience(store)
        for door in Door.allCases {
            guard let refusal = stranger.refusal(at: door) else { continue }
            var facts = try await store.facts()
            let refused = try await store.refusedFrames()
            let visitor = try Visitor(store.address(door), door, try proof(of: stranger, at: store))
            let outcome = try await visitor.visit()
            #expect(refusal.isThis(outcome), "\(stranger) at \(door): \(outcome)")
            if refusal == .frame {
                try await visitor.leave()
                #expect(try await store.refusedFrames() == refused + 1)
            } else {
                facts.count(try await audience.hears(whileSilent: visitor))
            }
            try await expectNoChange(since: facts, "\(stranger) at \(door)", in: store)

            let guest = try guest(door, store)
            #expect(try await guest.visit() == .served, "the right key at \(door)")
            try await guest.leave()
        }
    }

    // MARK: Those who are in

    enum Loss: CaseIterable { case revoked, expired }

    @Test(arguments: Loss.allCases)
    func `Whoever is in when its key goes does nothing and hears nothing any more`(loss: Loss) async throws {
        let store = try await GuardedStore(keys: "peer")
        let audience = try await Audience(store)
        var peers: [Door: Visitor] = [:]
        for door in Door.allCases where door != .admin {
            let peer = try Visitor(store.address(door), door, .security(try store.proof("peer")))
            #expect(try await peer.visit() == .served, "\(door)")
            peers[door] = peer
        }
        // Where a visit changes something, the guest of the first test is the control.
        let admin = try Visitor(store.address(.admin), .admin, .security(try store.proof("peer")))
        #expect(try await admin.ask("status") == .served)
        peers[.admin] = admin
        try await audience.order()
        let worker = try #require(peers[.work])
        try await worker.takeTask()

        switch loss {
        case .revoked: try await store.revoke("peer")
        case .expired: try await store.expire("peer")
        }
        // Both are told before they ask.
        #expect(try await peers[.front]?.refusal(instead: .receipt) == .refused(.keyRefused))
        #expect(try await worker.refusal(instead: .acknowledge) == .refused(.keyRefused))
        // All viewers of the network are cut off, and those with a key come again.
        let viewer = try #require(peers[.view])
        try await eventually("it is cut off from views") { try viewer.isCutOff() }
        try viewer.listen()
        try await audience.isBack()
        var facts = try await store.facts()
        #expect(try await peers[.front]?.submit(2) == .refused(.keyRefused))
        #expect(try await worker.answer() == .refused(.keyRefused))
        #expect(try await admin.pause() == .refused(.keyRefused))
        facts.count(try await audience.hears(whileSilent: viewer))
        try await expectNoChange(since: facts, in: store)

        // The job is another one's, once.
        let other = try guest(.work, store)
        #expect(try await other.visit() == .served)
        try await other.takeTask()
        #expect(try await other.answer() == .served)
        let state = try await store.ask("inspect").value["state"]
        #expect(state?["async"] == 7 && state?["isBusy"] == false)
    }

    // MARK: Over ipc

    private static let canBeNobody =
        geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0 && access("/usr/bin/python3", X_OK) == 0

    @Test(.enabled(if: canBeNobody, "another user is needed, which only root can be; setpriv and python3"))
    func `Another user does nothing and hears nothing over ipc, also where the files let him through`() async throws {
        let store = try await GuardedStore()
        let audience = try await Audience(store)
        let folder = try store.folder
        for open in [store.scratch.path, store.scratch.folder("run"), folder] { chmod(open, 0o755) }
        for door in Door.allCases {
            chmod("\(folder)/\(door)", 0o777)
            var facts = try await store.facts()
            let stranger = try BareVisitor("\(folder)/\(door)", door, as: 65_534, in: store.scratch)
            let known = try BareVisitor("\(folder)/\(door)", door, as: nil, in: store.scratch)
            facts.count(try await audience.speaks())
            let (refused, served) = (try await stranger.heard(), try await known.heard())
            #expect(refused.contains("ERROR") && refused.contains("400"), "\(door): \(refused)")
            #expect(!refused.contains("READY") && !refused.contains("SMV1"), "\(door): \(refused)")
            #expect(served.contains("READY") && served.contains("SMV1"), "\(door): \(served)")
            // At these doors the other one has left something.
            guard door == .admin || door == .view else { continue }
            try await expectNoChange(since: facts, "\(door)", in: store)
        }
        #expect(store.log.contains("is not let in over ipc, which is for the user of the store"))
    }

    // MARK: What is another one's

    @Test func `A session of another key is not let in, and its owner has it`() async throws {
        let store = try await GuardedStore(keys: "thief")
        let owner = try guest(.front, store)
        #expect(try await owner.visit() == .served)
        let facts = try await store.facts()
        let thief = try Visitor(store.address(.front), .front, .security(try store.proof("thief")), id: owner.id)
        #expect(try await thief.visit() == .refused(.forbidden))
        #expect(try await thief.submit(2) == .refused(.unknownPeer))
        // Without a key, the user of the store is another one, too.
        let local = try RawPeer("ipc://\(try store.folder)/front")
        try await local.hello(5, role: "client", .binary(owner.id))
        #expect(try await local.nextError().code == .forbidden)
        try await expectNoChange(since: facts, in: store)
        // Its outcomes are kept for it, and the next number is the one that it knows.
        #expect(try await owner.outcome(of: 1) == owner.outcomes[1])
        #expect(try await owner.submit(2) == .served)
    }

    @Test func `A worker's identity that is another key's is not let in, and the job stays where it is`() async throws {
        let store = try await GuardedStore(keys: "thief")
        let audience = try await Audience(store)
        let owner = try guest(.work, store)
        #expect(try await owner.visit() == .served)
        try await audience.order()
        try await owner.takeTask()
        let facts = try await store.facts()
        let thief = try Visitor(store.address(.work), .work, .security(try store.proof("thief")), id: owner.id)
        thief.task = owner.task
        #expect(try await thief.visit() == .refused(.forbidden))
        #expect(try await thief.answer() == .refused(.unknownPeer))
        let local = try RawPeer("ipc://\(try store.folder)/work", options: .worker)
        try await local.hello(5, schema: ["Counter", 1], role: "worker", [.binary(owner.id), 1, ["default"], []])
        #expect(try await local.nextError().code == .forbidden)
        try await expectNoChange(since: facts, in: store)
        #expect(try await owner.answer() == .served)
        #expect(try await store.ask("inspect").value["state"]?["async"] == 7)
    }
}

/// A client that has views published, and a viewer that hears them.
private struct Audience {
    private let talker: RawPeer
    private let viewer: Visitor
    private let sequence = Sequence()

    private final class Sequence { var last: Int64 = 0 }

    init(_ store: GuardedStore) async throws {
        var options = SocketOptions.client
        options.security = try store.proof("client")
        talker = try RawPeer(store.address(.front), options: options)
        try await talker.greet()
        viewer = try Visitor(store.address(.view), .view, .security(try store.proof("viewer")))
        #expect(try await viewer.visit() == .served)
        // A session that has sent nothing is none yet.
        try await send(.increment)
    }

    /// Orders the counter's job.
    func order() async throws { try await send(.incrementAsync) }

    private func send(_ input: Value) async throws {
        sequence.last += 1
        try await talker.submit(input, from: sequence.last, confirmed: sequence.last - 1)
        _ = try await talker.first(.receipt)
    }

    /// Waits until the viewer was cut off and hears something again.
    func isBack() async throws {
        try await eventually("the viewer is cut off") { try viewer.isCutOff() }
        let before = try viewer.listen()
        try await eventually("the viewer is back") { try viewer.listen() > before }
    }

    /// Has ten views published.
    ///
    /// - Returns: by how many inputs.
    func speaks() async throws -> Int64 {
        for _ in 0..<10 { try await send(.increment) }
        return 10
    }

    /// Many views are heard, while a visitor that was sent away, and knocks again and again, is not heard and hears nothing.
    ///
    /// - Returns: how many inputs it has taken.
    func hears(whileSilent visitor: Visitor) async throws -> Int64 {
        let (before, heard) = (visitor.heard, viewer.heard)
        let first = sequence.last
        try await eventually("many views are heard") {
            #expect(try visitor.door == .view || !visitor.offer(RawFrame(.ping)), "\(visitor.door)")
            try await send(.increment)
            return try viewer.listen() >= heard + 20
        }
        #expect(try visitor.listen() == before, "\(visitor.door)")
        return sequence.last - first
    }
}
