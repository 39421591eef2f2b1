import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Outputs, and the views of every turn, page by page.
@Suite struct StorePageTests {
    static func rig(_ change: (inout StoreSettings) -> Void = { _ in }) throws -> Rig {
        var settings = StoreSettings()
        change(&settings)
        let rig = try Rig(settings)
        rig.connectClient()
        return rig
    }

    static let start = EffectID(turn: 0, ordinal: 0)

    // MARK: Outputs

    @Test func `Outputs after a place come at once, and else when there are any`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.emit(["x", "y"])]), from: client(1))
        let page = try #require(
            rig.exchange(.outputsRequest(instance: .main, after: Self.start, waits: true), from: client(1)).outputs)
        #expect(page.after == Self.start && page.lost == nil)
        #expect(page.outputs.map { "\($0.id)" } == ["2/0", "2/1"])
        let last = try #require(page.outputs.last?.id)
        #expect(rig.exchange(.outputsRequest(instance: .main, after: last, waits: true), from: client(1)) == [])
        let frames = rig.exchange(inputs([.add(1), .emit(["z"])], from: 2), from: client(1))
        #expect(try #require(frames.outputs).outputs.map { try unpacked(String.self, $0.bytes) } == ["z"])
        #expect(rig.exchange(inputs([.emit(["unasked"])], from: 4), from: client(1)).outputs == nil)
    }

    @Test func `No output leaves before it is on disk`() throws {
        let rig = try Self.rig()
        rig.exchange(.outputsRequest(instance: .main, after: Self.start, waits: true), from: client(1))
        rig.commits = false
        #expect(rig.exchange(inputs([.emit(["x"])]), from: client(1)) == [])
        rig.commit()
        #expect(rig.take(client(1)).outputs?.outputs.count == 1)
    }

    @Test func `A page has its limit, and the next goes on behind it`() throws {
        let rig = try Self.rig { $0.pageBytes = 10 }
        rig.exchange(inputs([.emit(["1234", "5678", "9"])]), from: client(1))
        let first = try #require(
            rig.exchange(.outputsRequest(instance: .main, after: Self.start, waits: true), from: client(1)).outputs)
        #expect(first.outputs.count == 2)
        let last = try #require(first.outputs.last?.id)
        #expect(
            rig.exchange(.outputsRequest(instance: .main, after: last, waits: true), from: client(1)).outputs?.outputs.count == 1)
    }

    @Test func `Outputs that are forgotten are told of`() throws {
        let rig = try Self.rig()
        let text = String(repeating: "x", count: 1 << 20)
        for number in 0..<20 { rig.exchange(inputs([.emit([text])], from: number + 1, confirmed: number), from: client(1)) }
        let page = try #require(
            rig.exchange(.outputsRequest(instance: .main, after: Self.start, waits: true), from: client(1)).outputs)
        let lost = try #require(page.lost)
        #expect(lost > Self.start)
        #expect(page.outputs.first.map { $0.id > lost } == true)
        let (all, kept) = (rig.machine.outputs(after: Self.start), rig.machine.keptOutputs)
        #expect(all == nil && kept.first?.id == page.outputs.first?.id)
        #expect(rig.exchange(.outputsRequest(instance: .main, after: lost, waits: true), from: client(1)).outputs?.lost == nil)
    }

    @Test func `Outputs survive a restart, and a place of before goes on`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.emit(["x", "y"])]), from: client(1))
        let next = try rig.restarted()
        next.connectClient(witness: 2)
        let page = next.exchange(
            .outputsRequest(instance: .main, after: EffectID(turn: 2, ordinal: 0), waits: true), from: client(1)
        ).outputs
        #expect(page?.outputs.map { "\($0.id)" } == ["2/1"])
    }

    @Test func `A place that no turn has reached is misuse, and so is another instance`() throws {
        let rig = try Self.rig()
        let beyond = Frame.outputsRequest(instance: .main, after: EffectID(turn: 99, ordinal: 0), waits: true)
        #expect(rig.exchange(beyond, from: client(1)) == [.error(PeerError(.misuse, "there is no turn 99 yet"))])
        let others: [Frame] = [
            .outputsRequest(instance: "other", after: Self.start, waits: true), .viewsRequest(instance: "other", after: 1),
            .viewRequest(instance: "other", atLeast: 1),
        ]
        for other in others {
            #expect(rig.exchange(other, from: client(1)) == [.error(PeerError(.misuse, "there is no instance other"))])
        }
    }

    @Test func `The newest turn is a place, and the next is none yet`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        let misuse = [Frame.error(PeerError(.misuse, "there is no turn 3 yet"))]
        func outputs(_ turn: Int) -> [Frame] {
            rig.exchange(.outputsRequest(instance: .main, after: EffectID(turn: turn, ordinal: 0), waits: true), from: client(1))
        }
        #expect(outputs(2) == [] && outputs(3) == misuse)
        #expect(rig.exchange(.viewsRequest(instance: .main, after: 3), from: client(1)) == misuse)
        #expect(rig.exchange(.viewsRequest(instance: .main, after: 2), from: client(1)) == [])
        let page = try #require(rig.exchange(inputs([.add(1)], from: 2), from: client(1)).views)
        #expect(page.views.map(\.turn) == [3] && !page.isMissingSome)
    }

    @Test func `Without views a reader is told why, and none are taken for it`() throws {
        let rig = try Self.rig()
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        rig.machine.turnViewsOff("why")
        #expect(
            rig.exchange(.viewsRequest(instance: .main, after: 1), from: client(1)) == [
                .waiting(turn: 1, on: "there is no view: why")
            ])
        rig.tick(.seconds(1))
        #expect(rig.machine.turns.log.tap == nil)
    }

    @Test func `A request that is repeated replaces itself, and waiting ones are limited`() throws {
        let rig = try Self.rig { $0.waiters = 1 }
        for _ in 0..<3 {
            #expect(rig.exchange(.outputsRequest(instance: .main, after: Self.start, waits: true), from: client(1)) == [])
        }
        rig.connectClient(2)
        let frames = rig.exchange(.outputsRequest(instance: .main, after: Self.start, waits: true), from: client(2))
        #expect(frames == [.error(PeerError(.retryLater, "too many requests wait", wait: .seconds(1)))])
        let answers = rig.exchange(inputs([.emit(["x"])]), from: client(1)).filter { $0.kind == .outputs }
        #expect(answers.count == 1)
    }

    @Test func `What is there is told at once, however many wait for more`() throws {
        let rig = try Self.rig { $0.waiters = 1 }
        rig.exchange(inputs([.emit(["x"])]), from: client(1))
        let newest = EffectID(turn: 2, ordinal: 0)
        #expect(rig.exchange(.outputsRequest(instance: .main, after: newest, waits: true), from: client(1)) == [])
        rig.connectClient(2)
        let page = rig.exchange(.outputsRequest(instance: .main, after: Self.start, waits: true), from: client(2)).outputs
        #expect(page?.outputs.map(\.id) == [newest])
    }

    @Test func `Who does not want to wait is told at once that there is nothing`() throws {
        let rig = try Self.rig()
        let page = rig.exchange(.outputsRequest(instance: .main, after: Self.start, waits: false), from: client(1)).outputs
        #expect(page == OutputPage(after: Self.start, outputs: []))
    }

    // MARK: Views of every turn

    @Test func `A reader of every view gets the current one and then that of each turn, follow-ups included`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        let first = try #require(rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1)).views)
        #expect(try first.totals == [1] && !first.isMissingSome)
        let turn = try #require(first.views.last?.turn)
        #expect(rig.exchange(.viewsRequest(instance: .main, after: turn), from: client(1)).views == nil)
        let frames = rig.exchange(inputs([.chain(3), .forbidden, .add(0)], from: 2), from: client(1))
        let page = try #require(frames.views)
        #expect(try page.totals == [2, 3, 4, 4])
        #expect(page.views.map(\.turn) == [3, 4, 5, 7], "a refusal is no view")
        #expect(page.after == turn && !page.isMissingSome)
        #expect(rig.exchange(inputs([.add(1)], from: 5), from: client(1)).views == nil, "a request is answered once")
    }

    @Test func `No view of a turn leaves before it is on disk`() throws {
        let rig = try Self.rig()
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        rig.exchange(.viewsRequest(instance: .main, after: 1), from: client(1))
        rig.commits = false
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)) == [])
        rig.commit()
        #expect(try rig.take(client(1)).views?.totals == [1])
    }

    @Test func `On a full disk a reader waits, and no page gathers at the gate`() throws {
        let rig = try Self.rig()
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.machine.journalIsFull(true, now: rig.now)
        for _ in 1...9 { rig.exchange(.viewsRequest(instance: .main, after: 1), from: client(1)) }
        rig.machine.journalIsFull(false, now: rig.now)
        rig.commits = true
        rig.round()
        rig.tick(.seconds(1))
        #expect(rig.take(client(1)).count { if case .views = $0 { true } else { false } } == 1)
    }

    @Test func `A reader that falls behind what is kept is told so, and gets the current view`() throws {
        let rig = try Self.rig { $0.feedViews = 3 }
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        rig.exchange(inputs(Array(repeating: .add(1), count: 10)), from: client(1))
        let page = try #require(rig.exchange(.viewsRequest(instance: .main, after: 1), from: client(1)).views)
        #expect(page.isMissingSome)
        #expect(try page.totals == [10])
        let newest = try #require(page.views.last?.turn)
        let rest = try #require(rig.exchange(.viewsRequest(instance: .main, after: newest - 2), from: client(1)).views)
        #expect(try rest.totals == [9, 10] && !rest.isMissingSome)
    }

    @Test func `A reader that waits is told so, too, when more turns come at once than are kept`() throws {
        let rig = try Self.rig { $0.feedViews = 3 }
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        #expect(rig.exchange(.viewsRequest(instance: .main, after: 1), from: client(1)) == [])
        let page = try #require(rig.exchange(inputs(Array(repeating: .add(1), count: 10)), from: client(1)).views)
        #expect(page.isMissingSome && page.after == 1)
        #expect(try page.totals == [10])
    }

    @Test(arguments: [(-1, false), (0, true), (1, true)])
    func `Views are missing to whoever names a turn, and not to whoever begins now`(after turn: Int, isMissingSome: Bool) throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        let page = try #require(rig.exchange(.viewsRequest(instance: .main, after: turn), from: client(1)).views)
        #expect(page.isMissingSome == isMissingSome)
        #expect(try page.totals == [1])
    }

    @Test func `Without readers no views are taken, and a broken connection loses none`() throws {
        let rig = try Self.rig { $0.feedLinger = .seconds(8) }
        #expect(rig.machine.turns.log.tap == nil)
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        #expect(rig.machine.turns.log.tap != nil)
        rig.connectClient(epoch: 2, at: client(7))
        rig.exchange(inputs([.add(1)]), from: client(7))
        rig.tick(.seconds(2))
        #expect(try rig.exchange(.viewsRequest(instance: .main, after: 1), from: client(7)).views?.totals == [1])
        rig.exchange(.goodbye, from: client(7))
        for _ in 0..<9 { rig.tick(.seconds(1)) }
        #expect(rig.machine.turns.log.tap == nil && !rig.machine.readers.feed.isOpen)
    }

    @Test func `After a restart a reader is told that views may be missing`() throws {
        let rig = try Self.rig()
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        rig.exchange(inputs([.add(1)]), from: client(1))
        let next = try rig.restarted()
        next.connectClient(witness: 1)
        #expect(next.exchange(.viewsRequest(instance: .main, after: 1), from: client(1)).views?.isMissingSome == true)
    }

    @Test func `A death in a reader's view is the fault of the view, and one after it that of the message`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        let marker = TrapMarker(page)
        _ = marker.take(timeline: home, build: 1)
        let call = ProgramCall.answer(EffectID(turn: 2, ordinal: 0))
        marker.begin(call, isAlone: false, after: 0)
        #expect(marker.during(.view) { TrapMarker(page).take(timeline: home, build: 1).death?.call } == .view)
        marker.begin(call, isAlone: false, after: 0)
        marker.during(.view) {}
        #expect(TrapMarker(page).take(timeline: home, build: 1).death?.call == call)
    }

    @Test func `Only so many may read every view`() throws {
        let rig = try Self.rig { $0.feedReaders = 1 }
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        #expect(rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1)).views != nil)
        rig.connectClient(2)
        let frames = rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(2))
        #expect(frames == [.error(PeerError(.retryLater, "too many read every view", wait: .seconds(1)))])
    }
}

extension [Frame] {
    fileprivate var outputs: OutputPage? {
        for case .outputs(let page) in self { return page }
        return nil
    }

    fileprivate var views: ViewPage? {
        for case .views(let page) in self { return page }
        return nil
    }
}

extension ViewPage {
    fileprivate var totals: [Int] {
        get throws { try views.map { try unpacked(Shop.ViewState.self, $0.bytes).total } }
    }
}
