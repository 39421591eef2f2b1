import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarStore
@testable import SamovarWire

/// What one process leaves of its calls, and what the next one reads.
@Suite struct TrapMarkerTests {
    /// A page as a file of the data folder, over any number of processes.
    private final class Page {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)

        init() { memory.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount) }

        deinit { memory.deallocate() }

        var marker: TrapMarker { TrapMarker(memory) }
        var mark: MaintenanceMark { MaintenanceMark(memory) }

        /// What the next process reads.
        func take(timeline: Timeline = home, build: UInt64 = 1) -> Suspicion { marker.take(timeline: timeline, build: build) }

        func word(_ place: Int) -> UInt64 { memory.load(fromByteOffset: place * 8, as: UInt64.self) }
        func set(_ place: Int, _ value: UInt64) { memory.storeBytes(of: value, toByteOffset: place * 8, as: UInt64.self) }
    }

    /// A page whose process has begun this call and not ended it.
    private static func died(in call: ProgramCall, isAlone: Bool = true, after prepare: (TrapMarker) -> Void = { _ in }) -> Page {
        let page = Page()
        let marker = page.marker
        _ = marker.take(timeline: home, build: 1)
        marker.begin(call, isAlone: isAlone, after: 5)
        prepare(marker)
        return page
    }

    private static let input = ProgramCall.input(SessionID(high: 7, low: 8), sequence: 9)

    private static let calls: [(ProgramCall, [UInt64])] = [
        (.start, [1, 0, 0, 0]), (input, [2, 7, 8, 9]), (.answer(EffectID(turn: 3, ordinal: 4)), [3, 3, 4, 0]),
        (.failure(EffectID(turn: 3, ordinal: 4)), [4, 3, 4, 0]), (.view, [5, 0, 0, 0]), (.state, [6, 0, 0, 0]),
        (.restore, [7, 0, 0, 0]), (.replay(turn: 6), [8, 6, 0, 0]), (.firing(EffectID(turn: 3, ordinal: 4)), [9, 3, 4, 0]),
        (.subscriptions, [10, 0, 0, 0]), (.maintenance, [11, 0, 0, 0]), (.operated(7), [12, 7, 0, 0]),
    ]

    // MARK: The page

    @Test func `The marker's own words end six before the page does, where those of the journal's end begin`() {
        #expect(TrapMarker.byteCount == 4_096 && TrapMarker.wordCount == 506)
    }

    @Test func `Whoever changes the words of a call, its evidence or their places has to change the format`() {
        for (call, words) in Self.calls {
            let page = Self.died(in: call, isAlone: false)
            #expect((5..<9).map { page.word($0) } == words, "\(call)")
            #expect([0, 1, 2, 3, 4, 9, 10, 11].map { page.word($0) } == [0x5341_4d56_4d4b_5231, 1, 1, 1, 1, 0, 0, 0])
            #expect(ProgramCall(words: (words[0], words[1], words[2], words[3])) == call)
        }
        let evidence: [(DeathEvidence, UInt64, UInt64)] = [
            (.none, 0, 0), (.signal(4), 1, 4), (.limit(.turns, 50), 2, 50), (.limit(.effects, 50), 3, 50),
            (.limit(.bytes, 50), 4, 50), (.limit(.effectBytes, 50), 5, 50), (.limit(.unencodable, 0), 6, 0),
        ]
        for (evidence, kind, number) in evidence {
            let page = Self.died(in: Self.input) { $0.note(evidence) }
            #expect([4, 9, 10].map { page.word($0) } == [2, kind, number])
            #expect(page.take().death == Suspicion.Death(call: Self.input, wasAlone: true, evidence: evidence))
        }
        let page = Page()
        var suspect = Suspicion.Suspect(call: Self.input)
        (suspect.deaths, suspect.kills, suspect.evidence) = (1, 2, .signal(5))
        page.marker.write([suspect, Suspicion.Suspect(call: .view)])
        #expect((11..<28).map { page.word($0) } == [2, 2, 7, 8, 9, 1, 2, 1, 5, 5, 0, 0, 0, 0, 0, 0, 0])
        page.mark.begin(thread: 77)
        #expect([510, 511].map { page.word($0) } == [77, 0] && TrapMarker.capacity == 61)
    }

    @Test func `Words that nobody writes are no call and no proof`() {
        for word in [0, 13, 33, UInt64.max] {
            #expect(ProgramCall(words: (word, 1, 1, 1)) == nil)
            let page = Self.died(in: Self.input)
            page.set(5, word)
            #expect(page.take().death == nil)
        }
        for word in [7, 32, 33, UInt64.max] { #expect(DeathEvidence(words: (word, 4)) == DeathEvidence.none) }
    }

    // MARK: What the next process reads

    @Test func `A call that has returned is under no suspicion, and one that has not is named, once`() {
        #expect(Self.died(in: Self.input) { $0.end() }.take() == Suspicion())
        let page = Self.died(in: Self.input, isAlone: false)
        #expect(page.take().death == Suspicion.Death(call: Self.input, wasAlone: false, evidence: .none))
        #expect(page.take() == Suspicion())
        let marker = Self.died(in: Self.input).marker
        #expect(marker.bytes.count == TrapMarker.byteCount)
    }

    @Test func `All machines of a process read the same, however late they ask`() {
        let page = Self.died(in: Self.input)
        let marker = page.marker
        let first = marker.take(timeline: home, build: 1)
        marker.begin(.view, isAlone: true, after: 6)
        #expect(first.death != nil && marker.take(timeline: home, build: 1) == first)
    }

    @Test func `Evidence of one call is none against the next`() {
        let page = Self.died(in: Self.input) { marker in
            marker.note(.signal(4))
            marker.end()
            marker.begin(.view, isAlone: true, after: 6)
        }
        #expect(page.take().death == Suspicion.Death(call: .view, wasAlone: true, evidence: .none))
    }

    @Test func `A signal counts against the call that is under way, and against none before or after`() {
        let page = Self.died(in: Self.input)
        TrapMarker.note(signal: 11, in: page.memory)
        #expect(page.take().death?.evidence == .signal(11))
        let ended = Self.died(in: Self.input) { $0.end() }
        TrapMarker.note(signal: 11, in: ended.memory)
        #expect([9, 10].map { ended.word($0) } == [0, 0])
    }

    @Test func `Under another build, another timeline or another format, what a page says is forgotten`() {
        func page() -> Page {
            let page = Self.died(in: Self.input)
            page.marker.write([Suspicion.Suspect(call: .view)])
            page.mark.begin(thread: 3)
            return page
        }
        let same = page().take()
        #expect(same.death?.call == Self.input && same.maintenanceDeath?.call == .maintenance)
        #expect(same.suspects.map(\.call) == [.view])
        #expect(same.maintenanceDeath?.wasAlone == true)
        #expect(page().take(build: 2) == Suspicion())
        #expect(page().take(timeline: Timeline(high: 1, low: 2)) == Suspicion())
        #expect(page().take(timeline: Timeline(high: 2, low: 1)) == Suspicion())
        let foreign = page()
        foreign.set(0, 1)
        #expect(foreign.take() == Suspicion())
        #expect(foreign.word(0) == 0x5341_4d56_4d4b_5231, "it is this process's page now")
        // Each of the others is, too.
        let other = page()
        _ = other.take(timeline: abroad, build: 2)
        other.marker.begin(Self.input, isAlone: true, after: 1)
        #expect(other.take(timeline: abroad, build: 2).death?.call == Self.input)
    }

    @Test func `A timeline that failed to begin has no name, and its start is suspected all the same`() {
        let page = Self.died(in: .start)
        page.marker.write([Suspicion.Suspect(call: .view), Suspicion.Suspect(call: .start)])
        let suspicion = page.take(timeline: abroad)
        #expect(suspicion.death?.call == .start && suspicion.suspects.map(\.call) == [.start])
        let same = Self.died(in: .start)
        same.marker.write([Suspicion.Suspect(call: .view), Suspicion.Suspect(call: .start)])
        #expect(same.take().suspects.map(\.call) == [.view, .start])
        #expect(Self.died(in: .start).take(timeline: abroad, build: 2) == Suspicion())
        let begun = Self.died(in: Self.input)
        begun.marker.write([Suspicion.Suspect(call: .start)])
        #expect(begun.take(timeline: abroad) == Suspicion(), "one that takes inputs has a name")
    }

    @Test func `A page has room for so many suspects, and more are left out`() {
        let page = Page()
        _ = page.take()
        let suspects = (1...TrapMarker.capacity + 1).map { Suspicion.Suspect(call: .replay(turn: $0)) }
        page.marker.write(suspects)
        #expect(page.take().suspects == Array(suspects.dropLast()))
        page.mark.begin(thread: 5)
        #expect(page.take().maintenanceDeath != nil, "the mark of the other thread has its own words")
        page.marker.write([])
        #expect(page.take().suspects == [])
        // Numbers that no machine counts up to are bounded, so that they can be added to.
        page.marker.write([Suspicion.Suspect(call: .view)])
        for place in [16, 17] { page.set(place, .max) }
        #expect(page.take().suspects.map { [$0.deaths, $0.kills] } == [[1_000, 1_000]])
        page.set(11, .max)
        #expect(page.take().suspects.count <= TrapMarker.capacity)
    }

    // MARK: A call inside another

    @Test func `The inner call is named while it lasts, and the outer one before and after it`() {
        let page = Self.died(in: Self.input, isAlone: false)
        let marker = TrapMarker(page.memory)
        let inner = marker.during(.view) { (4..<9).map { page.word($0) } }
        #expect(inner == [2, 5, 0, 0, 0])
        #expect((4..<9).map { page.word($0) } == [1, 2, 7, 8, 9])
        marker.end()
        marker.during(.state) {}
        #expect(page.take() == Suspicion())
    }

    @Test func `An inner call that is the program's end is the one that is named`() {
        let died = Self.died(in: Self.input, isAlone: false)
        let copy = Page()
        TrapMarker(died.memory).during(.view) { copy.memory.copyMemory(from: died.memory, byteCount: TrapMarker.byteCount) }
        #expect(copy.take().death == Suspicion.Death(call: .view, wasAlone: true, evidence: .none))
    }

    // MARK: The thread beside the service

    @Test func `A signal of the other thread is its own, and of no call that has ended`() {
        let page = Page()
        _ = page.take()
        page.mark.begin(thread: 77)
        page.mark.note(signal: 11, thread: 76)
        page.mark.note(signal: 11, thread: 0)
        #expect(page.word(511) == 0)
        page.mark.note(signal: 6, thread: 77)
        #expect(page.take().maintenanceDeath == Suspicion.Death(call: .maintenance, wasAlone: true, evidence: .signal(6)))
        #expect(page.take().maintenanceDeath == nil)
        page.mark.begin(thread: 77)
        #expect(page.take().maintenanceDeath?.evidence == DeathEvidence.none, "the signal was of an earlier call")
        page.mark.during(thread: 78) { #expect(page.word(510) == 78) }
        page.mark.note(signal: 6, thread: 78)
        page.mark.note(signal: 6, thread: 0)
        #expect(page.word(510) == 0 && page.word(511) == 0 && page.take() == Suspicion())
    }

    @Test func `Where one of two threads has proof against it, the other was only cut off`() {
        let evidence: [DeathEvidence] = [.none, .signal(4)]
        for service in evidence {
            for beside in evidence {
                let suspicion = Suspicion(
                    death: Suspicion.Death(call: Self.input, wasAlone: true, evidence: service),
                    maintenanceDeath: Suspicion.Death(call: .maintenance, wasAlone: true, evidence: beside))
                #expect((suspicion.death != nil) == (service.isProof || !beside.isProof))
                #expect((suspicion.maintenanceDeath != nil) == !service.isProof)
            }
        }
        let alone = Suspicion(maintenanceDeath: Suspicion.Death(call: .maintenance, wasAlone: true, evidence: .signal(4)))
        #expect(alone.maintenanceDeath != nil && alone.death == nil)
    }

    @Test func `Builds are told apart by a hash that stays the same`() {
        #expect(KeyedHash.of([1]) != KeyedHash.of([2]))
        var hash = KeyedHash(Secret(high: 0, low: 0))
        hash.combine([1] as [UInt8])
        #expect(KeyedHash.of([1]) == hash.finish())
    }
}
