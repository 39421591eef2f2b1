import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Each role and each frame, without a socket: who acts beyond its role is told so, counted, and changes nothing.
@Suite struct StoreRoleTests {
    /// What a peer may send, at the listener where it belongs.
    private static let frames: [(Frame, Listener, Set<Role>)] = {
        let hello = Hello(role: .client(session: session(9)), schema: shop)
        let offer = Hello(role: .worker(WorkerOffer(id: workerID(9), slots: 1, queues: [.default])), schema: shop)
        let readers: Set<Role> = [.viewer, .client, .operator]
        return [
            (.hello(hello), .front, readers), (.ping(0), .front, readers), (.goodbye, .front, readers),
            (.viewRequest(instance: .main, atLeast: 0), .front, readers),
            (.viewsRequest(instance: .main, after: 0), .front, readers),
            (inputs([.add(1)]), .front, [.client]), (.settle(turn: 1), .front, [.client]),
            (.outputsRequest(instance: .main, after: EffectID(turn: 0, ordinal: 0), waits: false), .front, [.client]),
            (.hello(offer), .work, [.worker]), (.ping(0), .work, [.worker]), (.credit(1), .work, [.worker]),
            (.result(JobResults([]), credit: 1), .work, [.worker]), (.progress([]), .work, [.worker]), (.drain, .work, [.worker]),
            (.goodbye, .work, [.worker]),
            (.request(AdminRequest(id: 1, verb: "status")), .admin, [.operator]),
        ]
    }()

    private static func route(_ listener: Listener) -> Route { Route(listener: listener, id: [0, 9], isRemote: true) }

    @Test(arguments: Role.allCases, 0..<frames.count)
    func `A frame is taken from a key of its roles, and from no other`(role: Role, place: Int) throws {
        let (frame, listener, roles) = Self.frames[place]
        let rig = try Rig.with(key(1, "peer", role))
        let head = rig.machine.head
        let answers = rig.exchange(frame, from: Self.route(listener), by: by(1))
        if roles.contains(role) {
            #expect(!answers.errors.contains(.forbidden) && rig.machine.access.refused == 0, "\(answers)")
        } else {
            #expect(answers.errors == [.forbidden], "\(answers)")
            #expect(rig.machine.access.refused == 1 && rig.machine.head == head)
            #expect(rig.machine.clients.connections.isEmpty && rig.machine.workers.connections.isEmpty)
        }
    }

    @Test(arguments: 0..<frames.count)
    func `A key that is unknown or has expired does nothing at all`(place: Int) throws {
        let (frame, listener, _) = Self.frames[place]
        let rig = try Rig.with(
            Key(named("peer"), fingerprint(1), roles: Set(Role.allCases), notAfter: at(5)))
        rig.now = at(5)
        let head = rig.machine.head
        for number in [1, 2] as [UInt64] {
            #expect(rig.exchange(frame, from: Self.route(listener), by: by(number)).errors == [.keyRefused])
        }
        #expect(rig.machine.access.refused == 2 && rig.machine.head == head)
    }

    @Test func `Who may not do something is told so in words of users, and not of frames`() throws {
        let refusals = try Self.frames.filter { !$0.2.contains(.viewer) }.map { frame, listener, _ in
            let rig = try Rig.with(key(1, "peer", .viewer))
            return rig.exchange(frame, from: Self.route(listener), by: by(1)).errorTexts
        }
        let deeds = ["sending inputs", "waiting for the end of effects", "reading outputs", "this socket"]
        #expect(Set(refusals) == Set(deeds.map { ["\($0) is not for the key peer, which is for viewers"] }))
    }

    @Test func `Without a key a peer is the user of the store, and does as ever`() throws {
        for (frame, listener, _) in Self.frames {
            let rig = try Rig.with(key(1, "peer", .viewer))
            let route = Route(listener: listener, id: [0, 9])
            #expect(!rig.exchange(frame, from: route).errors.contains { $0 == .forbidden || $0 == .keyRefused })
        }
    }

    @Test func `Each frame kind is for somebody at one listener, and views are not for workers`() {
        for kind in FrameKind.allCases {
            #expect(kind.roles(at: .work) == [.worker] && kind.roles(at: .admin) == [.operator])
            #expect(kind.roles(at: .front).contains(.client) && !kind.roles(at: .front).contains(.worker))
        }
        #expect(!Door.view.roles.contains(.worker))
    }

    @Test func `A frame from another key at a connection's route is of nobody`() throws {
        let rig = try Rig.with(key(1, "one", .client), key(2, "two", .client))
        #expect(rig.greetClient(1, by: by(1)).isWelcome)
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(2)).errors == [.unknownPeer])
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1)).errors == [.unknownPeer])
        #expect(try rig.state().total == 0)
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).verdicts == [.applied])
    }

    @Test func `A worker serves the queues of its key, and no other`() throws {
        let rig = try Rig.with(key(1, "maker", .worker, queues: ["render"]))
        let answers = rig.greetWorker(1, by: by(1), queues: ["render", "default"])
        #expect(answers.errorTexts == ["the key maker is not for queue default"] && answers.errors == [.forbidden])
        #expect(rig.machine.turns.state.joined.isEmpty && rig.machine.access.refused == 1)
        #expect(rig.greetWorker(1, by: by(1), queues: ["render"], epoch: 2).isWelcome)
    }

    @Test func `An input of a case that is not for the key is rejected by record, and those after it are taken`() throws {
        let rig = try Rig.with(key(1, "shop", .client, inputs: ["add"]))
        #expect(rig.greetClient(1, by: by(1)).isWelcome)
        let answers = rig.exchange(inputs([.add(1), .chain(3), .add(1)]), from: remoteClient(1), by: by(1))
        #expect(answers.verdicts == [.applied, .rejected("the key shop may not send chain"), .applied])
        #expect(try rig.state().total == 2)
        let again = try rig.restarted()
        #expect(again.greetClient(1, by: by(1), epoch: 2).isWelcome)
        #expect(
            again.exchange(inputs([.chain(3)], from: 2), from: remoteClient(1), by: by(1)).verdicts == [
                .rejected("the key shop may not send chain")
            ])
    }

    @Test(arguments: [[0xc0], [0x82, 0xa1, 0x61, 0xc0, 0xa1, 0x62, 0xc0], [0x81, 0x01, 0x02], [0xff, 0x00], []] as [[UInt8]])
    func `What is no case of an enum is not for a key that may send some cases only`(bytes: [UInt8]) throws {
        let rig = try Rig.with(key(1, "shop", .client, inputs: ["add"]))
        _ = rig.greetClient(1, by: by(1))
        let frame = Frame.send([Submission(sequence: 1, input: bytes)], confirmed: 0)
        #expect(
            rig.exchange(frame, from: remoteClient(1), by: by(1)).verdicts == [
                .rejected("the key shop may send some cases only, and this is none")
            ])
    }
}
