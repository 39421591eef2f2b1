import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The store's start number: peers hear it, and it hears from them of later ones.
@Suite struct StoreStartTests {
    @Test func `WELCOME says which start this is, to clients and workers`() throws {
        func starts(_ rig: Rig) -> [Int] {
            (rig.connectClient() + rig.connectWorker()).compactMap {
                if case .welcome(let welcome) = $0 { welcome.start } else { nil }
            }
        }
        let rig = try Rig()
        #expect(starts(rig) == [1, 1])
        #expect(try starts(rig.restarted()) == [2, 2])
    }

    @Test func `Whoever knows a later start is sent on, and the store goes on`() throws {
        let rig = try Rig()
        rig.round()
        let error = PeerError(
            .retryLater, "another store has taken over: this is start 1, and you know start 2", wait: .seconds(1))
        #expect(rig.connectClient(start: 2) == [.error(error)])
        let offer = WorkerOffer(id: workerID(1), slots: 1, queues: [.default])
        #expect(rig.exchange(.hello(Hello(role: .worker(offer), schema: shop, start: 2)), from: worker(1)) == [.error(error)])
        #expect(rig.stop == nil && rig.machine.out.laterStarts == 2)
        #expect(rig.connectClient(start: 1).count == 1, "of our own start")
        rig.deliver(.hello(Hello(role: .client(session: session(2)), schema: shop, start: 2)), from: client(2), of: abroad)
        rig.round()
        guard case .welcome? = rig.take(client(2)).first else {
            Issue.record("a start of another timeline says nothing")
            return
        }
    }
}
