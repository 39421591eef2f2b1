import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Deaths of the thread that makes snapshots beside the service: it calls the program, too.
@Suite struct StoreMaintenanceTrapTests {
    /// Stores that come and go on one page.
    final class World {
        let page: UnsafeMutableRawPointer
        private(set) var rig: Rig
        private let settings: StoreSettings
        private static let thread: UInt64 = 77

        init() throws {
            page = .allocate(byteCount: TrapMarker.byteCount, alignment: 8)
            page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
            var settings = StoreSettings()
            // One is due after each batch.
            settings.snapshotBytes = 0
            self.settings = settings
            rig = try Rig(settings, marker: TrapMarker(page))
            rig.round()
        }

        deinit {
            page.deallocate()
        }

        /// Whether the store wants a snapshot that is made beside it.
        var wantsSnapshot: Bool { !rig.snapshotRequests.isEmpty }

        func restart(build: String = "test") throws {
            rig = try Rig(
                settings, journal: rig.committedBatches, now: rig.now + .seconds(1), marker: TrapMarker(page), build: build)
            rig.round()
        }

        /// The process dies while the thread is in the program: by a signal that it raised itself, or by somebody.
        func die(_ signal: Int32?, of thread: UInt64 = thread) throws {
            let mark = MaintenanceMark(page)
            mark.begin(thread: Self.thread)
            if let signal { mark.note(signal: signal, thread: thread) }
            try restart()
        }

        func status(_ key: String) -> String {
            guard case .string(let text) = rig.machine.status(now: rig.now)[key] else { return "" }
            return text
        }
    }

    @Test func `Three traps beside the service turn its snapshots off, and turns go on`() throws {
        let world = try World()
        for death in 1...3 {
            #expect(world.wantsSnapshot && world.status("snapshots") == "on", "start \(death)")
            try world.die(5)
            let notes = world.rig.takeNotes()
            let text = "the store ended while it made or checked a snapshot beside its service (a trap, signal 5)"
            #expect(notes.contains(text), "\(notes)")
            #expect(notes.contains { $0.hasPrefix("no snapshot is made beside the service any more") } == (death == 3), "\(notes)")
        }
        #expect(!world.wantsSnapshot)
        let off = """
            off: the store ended 3 times while it made or checked a snapshot beside its service, each time alone \
            (a trap, signal 5)
            """
        #expect(world.status("snapshots") == off)
        world.rig.connectClient()
        #expect(world.rig.exchange(inputs([.add(1)]), from: client(1)).outcomes.map(\.verdict) == [.applied])
        try world.restart()
        #expect(!world.wantsSnapshot && world.status("snapshots") == off, "it is not forgotten")
    }

    @Test func `A stop in order and another build begin anew`() throws {
        let world = try World()
        for _ in 1...3 { try world.die(5) }
        try world.restart(build: "mended")
        #expect(world.wantsSnapshot)
        try world.restart()
        for _ in 1...3 { try world.die(5) }
        #expect(!world.wantsSnapshot)
        world.rig.machine.drain(within: .seconds(1), now: world.rig.now)
        world.rig.round()
        #expect(world.rig.stop == .drained)
        try world.restart()
        #expect(world.wantsSnapshot && world.status("snapshots") == "on")
    }

    @Test func `Kills are no proof: ten in a row turn them off, and one snapshot that is made begins anew`() throws {
        let world = try World()
        for _ in 1...9 { try world.die(nil) }
        #expect(world.wantsSnapshot)
        world.rig.machine.snapshotSaved(bytes: 10)
        for _ in 1...9 { try world.die(nil) }
        #expect(world.wantsSnapshot)
        try world.die(nil)
        #expect(!world.wantsSnapshot && world.status("snapshots").hasSuffix("(killed, or out of memory)"))
    }

    @Test func `A signal of another thread is none of this one`() throws {
        let world = try World()
        for _ in 1...4 { try world.die(5, of: 78) }
        #expect(world.wantsSnapshot)
    }

    @Test func `The thread that has raised the signal is blamed, and not the one that was cut off`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        func suspicion(loop: Int32?, maintenance: Int32?) -> Suspicion {
            page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
            _ = TrapMarker(page).take(timeline: home, build: 1)
            TrapMarker(page).begin(.input(session(1), sequence: 1), isAlone: true, after: 0)
            MaintenanceMark(page).begin(thread: 7)
            if let loop { TrapMarker.note(signal: loop, in: page) }
            if let maintenance { MaintenanceMark(page).note(signal: maintenance, thread: 7) }
            return TrapMarker(page).take(timeline: home, build: 1)
        }
        let input = ProgramCall.input(session(1), sequence: 1)
        let loop = suspicion(loop: 4, maintenance: nil)
        #expect(loop.death?.call == input && loop.maintenanceDeath == nil)
        let maintenance = suspicion(loop: nil, maintenance: 4)
        #expect(maintenance.death == nil && maintenance.maintenanceDeath?.evidence == .signal(4))
        let killed = suspicion(loop: nil, maintenance: nil)
        #expect(killed.death?.evidence == DeathEvidence.none && killed.maintenanceDeath?.evidence == DeathEvidence.none)
    }
}
