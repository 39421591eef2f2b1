import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarStore
@testable import SamovarWire

/// Which calls are taken alone, given up and refused, and what the next process reads of them.
@Suite struct QuarantineTests {
    /// A page that processes leave to each other.
    private final class Page {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)

        init() {
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        }

        deinit {
            memory.deallocate()
        }

        func start() -> Quarantine { Quarantine(TrapMarker(memory), timeline: home, build: "one", settings: StoreSettings()) }

        /// A process that dies in a call, alone; with a signal that it raised, or without.
        func die(in call: ProgramCall, _ signal: Int32? = 4, isAlone: Bool = true) {
            let quarantine = start()
            quarantine.begin(call, isAlone: isAlone, after: 6)
            if let signal { TrapMarker.note(signal: signal, in: memory) }
        }
    }

    private let input = ProgramCall.input(session(1), sequence: 7)

    @Test func `A suspect waits until what is before it is on disk, and is then alone in its batch`() {
        let page = Page()
        page.die(in: input)
        var quarantine = page.start()
        #expect(quarantine.mayTake(.answer(EffectID(turn: 1, ordinal: 0)), isClean: false) && !quarantine.isIsolating)
        #expect(!quarantine.mayTake(input, isClean: false) && quarantine.isIsolating)
        quarantine.committed()
        #expect(quarantine.mayTake(input, isClean: true) && !quarantine.isIsolating)
        quarantine.begin(input, isAlone: true, after: 6)
        #expect(quarantine.end(input, hasTurns: true) && quarantine.isIsolating && quarantine.isEmpty)
        #expect(page.start().isEmpty == true, "the next process knows that it was cleared")
    }

    @Test func `A suspect without a turn holds nobody up afterwards`() {
        let page = Page()
        page.die(in: input)
        var quarantine = page.start()
        quarantine.begin(input, isAlone: true, after: 6)
        #expect(quarantine.end(input, hasTurns: false) && !quarantine.isIsolating)
        #expect(!quarantine.end(input, hasTurns: true) && !quarantine.isIsolating, "it is none any more")
    }

    @Test func `What ended the store three times is given up once, and taken at once`() {
        let page = Page()
        for _ in 1...3 { page.die(in: input) }
        var quarantine = page.start()
        #expect(quarantine.mayTake(input, isClean: false) && !quarantine.isIsolating)
        let why = "the store ended 3 times while it took input 7 of session \(session(1)), each time alone (a trap, signal 4)"
        #expect(quarantine.verdict(on: input) == why)
        #expect(quarantine.giveUp(input) == why && quarantine.giveUp(input) == nil)
        #expect(page.start().isEmpty == true)
    }

    @Test func `A view that returns is cleared of kills, and not of what is proven`() {
        let page = Page()
        for signal in [4, nil, nil] as [Int32?] { page.die(in: .view, signal, isAlone: false) }
        var quarantine = page.start()
        #expect(quarantine.suspects.list.map { [$0.deaths, $0.kills] } == [[1, 2]], "it counts as alone, whatever else was open")
        quarantine.begin(.view, isAlone: false, after: 6)
        #expect(!quarantine.end(.view, hasTurns: true) && !quarantine.isIsolating)
        #expect(quarantine.suspects.list.map { [$0.deaths, $0.kills] } == [[1, 0]])
        #expect(page.start().suspects.list.map(\.kills) == [0])
    }

    @Test func `An end in order forgets what is off, and no item`() {
        let page = Page()
        for call in [ProgramCall.view, .state, input] { page.die(in: call) }
        var quarantine = page.start()
        quarantine.forgetWhatIsOff()
        #expect(quarantine.suspects.list.map(\.call) == [input])
    }

    // MARK: Before the service

    @Test func `A replay is refused after a proven death in it, and only the next time`() throws {
        let page = Page()
        page.die(in: .replay(turn: 5))
        var quarantine = page.start()
        try quarantine.admit(.replay(turn: 4), after: 3)
        let text = "the program ended the store when it replayed this turn (a trap, signal 4): it, or its machine, has changed"
        #expect(throws: TrapError(turn: 5, text)) { try quarantine.admit(.replay(turn: 5), after: 4) }
        page.die(in: .replay(turn: 5), nil)
        quarantine = page.start()
        try quarantine.admit(.replay(turn: 5), after: 4)
    }

    @Test func `Subscriptions are refused after a proven death, and named after the newest turn`() throws {
        let page = Page()
        page.die(in: .subscriptions)
        var quarantine = page.start()
        let text = "the program ended the store when asked for its subscriptions (a trap, signal 4)"
        #expect(throws: TrapError(turn: 9, text)) { try quarantine.admit(.subscriptions, after: 9) }
    }

    @Test func `A snapshot is passed over after a proven death in it, however often`() {
        let page = Page()
        page.die(in: .restore)
        for _ in 1...2 {
            var quarantine = page.start()
            #expect(throws: TrapError(turn: 0, "its state ended the store when it was read")) {
                try quarantine.admit(.restore, after: 0)
            }
        }
    }

    @Test func `A seed is refused after three deaths, and may be tried again after that`() throws {
        let page = Page()
        for _ in 1...2 { page.die(in: .start) }
        var quarantine = page.start()
        try quarantine.admit(.start, after: 0)
        page.die(in: .start)
        quarantine = page.start()
        let text = "the store ended 3 times while it began the program, each time alone (a trap, signal 4)"
        #expect(throws: TrapError(turn: 1, text)) { try quarantine.admit(.start, after: 0) }
        try quarantine.admit(.start, after: 0)
    }

    // MARK: The log

    @Test func `The log says what the process before died of`() {
        let page = Page()
        #expect(page.start().report() == [])
        page.die(in: input, nil)
        let killed = "the store ended while it took input 7 of session \(session(1)) (killed, or out of memory)"
        #expect(page.start().report() == [Note(.warning, killed)])
        page.die(in: .replay(turn: 5))
        #expect(page.start().report() == [], "a replay is told of where it is refused")
    }
}
