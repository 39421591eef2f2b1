import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// The inputs without an outcome. Each takes 33 bytes here: its own one, and what is counted beside it.
@Suite struct BacklogTests {
    private static func backlog(_ count: Int) -> Backlog {
        var backlog = Backlog()
        for number in 1...count { #expect(backlog.append([UInt8(number)], to: .main) == number) }
        return backlog
    }

    /// The numbers of the next frame.
    private static func take(
        _ backlog: inout Backlog, credit: Int = 100, _ limits: (inout ClientMachine.Settings) -> Void = { _ in }
    ) -> [Int] {
        var settings = ClientMachine.Settings()
        limits(&settings)
        return backlog.takeFrame(credit: credit, settings: settings).map(\.sequence)
    }

    @Test func `An outcome counts once, in whatever order they come`() {
        var backlog = Self.backlog(3)
        #expect(backlog.next == 4 && backlog.bytes == 99 && backlog.hasUnsent && !backlog.hasInFlight)
        #expect(Self.take(&backlog) == [1, 2, 3])
        #expect(backlog.bytesInFlight == 99 && !backlog.hasUnsent && backlog.hasInFlight)
        #expect([3, 3, 0, 4].map { backlog.answer($0) != nil } == [true, false, false, false])
        #expect(backlog.oldest == 1 && backlog.confirmed == 0 && backlog.unanswered == [1, 2])
        #expect([1, 1].map { backlog.answer($0) != nil } == [true, false])
        #expect(backlog.oldest == 2 && backlog.confirmed == 1 && backlog.count == 2)
        #expect(backlog.bytes == 33 && backlog.bytesInFlight == 33)
        #expect([2, 3].map { backlog.answer($0) != nil } == [true, false])
        #expect(backlog.confirmed == 3 && backlog.count == 0 && backlog.next == 4)
        #expect(backlog.bytes == 0 && backlog.bytesInFlight == 0 && !backlog.hasInFlight)
    }

    @Test func `A frame goes up to each limit, and not beyond it`() {
        for credit in 0...3 {
            var backlog = Self.backlog(3)
            #expect(Self.take(&backlog, credit: credit) == Array(1..<(credit + 1)))
        }
        for (bytes, count) in [(1, 1), (65, 1), (66, 2), (98, 2), (99, 3)] {
            var frame = Self.backlog(3)
            #expect(Self.take(&frame) { $0.frameBytes = bytes } == Array(1...count), "a frame of \(bytes) bytes")
            var window = Self.backlog(3)
            #expect(Self.take(&window) { $0.windowBytes = bytes } == Array(1...count), "a window of \(bytes) bytes")
            #expect(Self.take(&window) { $0.windowBytes = bytes } == [], "it is full")
        }
        var window = Self.backlog(3)
        #expect(Self.take(&window) { $0.window = 2 } == [1, 2])
        #expect(Self.take(&window) { $0.window = 2 } == [])
        #expect(window.answer(2) == 33 && Self.take(&window) { $0.window = 2 } == [], "it begins at the oldest without an outcome")
        #expect(window.answer(1) == 33 && Self.take(&window) { $0.window = 2 } == [3])
    }

    @Test func `Going back leads to what was sent and is not answered, and only that is in flight`() {
        var backlog = Self.backlog(5)
        #expect(Self.take(&backlog, credit: 4) == [1, 2, 3, 4])
        backlog.goBack(to: 9)
        #expect(backlog.cursor == 5, "5 was never sent")
        #expect(backlog.answer(1) == 33)
        backlog.goBack(to: 0)
        #expect(backlog.cursor == 2 && backlog.bytesInFlight == 0 && !backlog.hasInFlight)
        #expect(Self.take(&backlog) == [2, 3, 4, 5])
        backlog.goBack(to: 3)
        #expect(backlog.cursor == 3 && backlog.bytesInFlight == 33)
        // The store has taken it after all; it is not in flight, because it is to be sent again.
        #expect(backlog.answer(3) == 33 && backlog.bytesInFlight == 33)
        #expect(Self.take(&backlog) == [4, 5], "and so it is passed over")
        #expect(backlog.bytesInFlight == 99 && backlog.bytes == 99)
    }

    @Test func `What is answered before it is sent again is behind the next input to send`() {
        var backlog = Self.backlog(4)
        _ = Self.take(&backlog, credit: 3)
        backlog.goBack(to: 1)
        #expect([1, 2, 3].map { backlog.answer($0) != nil } == [true, true, true])
        #expect(backlog.cursor == 4 && backlog.bytesInFlight == 0 && Self.take(&backlog) == [4])
    }

    @Test func `Inputs of an earlier process have their numbers, and those between them are answered`() {
        let inputs = [7, 9].map { Submission(sequence: $0, input: [UInt8($0)]) }
        var backlog = Backlog(restoring: inputs, next: 11)
        #expect(backlog.unanswered == [7, 9] && backlog.confirmed == 6 && backlog.next == 11 && backlog.bytes == 66)
        #expect(Self.take(&backlog) == [7, 9] && !backlog.hasUnsent)
        #expect(backlog.answer(8) == nil && backlog.answer(7) == 33 && backlog.oldest == 9)
        let nothing = Backlog(restoring: [], next: 5)
        #expect(nothing.next == 5 && nothing.confirmed == 4 && nothing.count == 0 && !nothing.hasUnsent)
    }
}
