import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Which inputs of a session are told apart from others under their number.
@Suite struct FingerprintsTests {
    private func input(_ sequence: Int, _ byte: UInt8 = 1) -> Submission { Submission(sequence: sequence, input: [byte]) }

    private func known(_ sequences: ClosedRange<Int>, limit: Int = 9) -> Fingerprints {
        var known = Fingerprints()
        for sequence in sequences { known.append(input(sequence), limit: limit) }
        return known
    }

    /// The numbers under which another input is noticed.
    private func noticed(_ known: Fingerprints) -> [Int] { (-1...20).filter { known.differs(input($0, 2)) } }

    @Test func `Another input differs, and the same one does not`() {
        let known = known(1...3)
        #expect(noticed(known) == [1, 2, 3])
        #expect((1...3).allSatisfy { !known.differs(input($0)) })
    }

    @Test func `The newest are kept`() {
        #expect(noticed(known(1...4, limit: 3)) == [2, 3, 4] && known(1...3, limit: 3).count == 3)
        var known = known(1...9)
        known.keep(newest: 9)
        #expect(known.count == 9)
        known.keep(newest: 8)
        #expect(noticed(known) == Array(2...9))
        known.keep(newest: 2)
        #expect(noticed(known) == [8, 9])
        known.append(input(10), limit: 9)
        #expect(noticed(known) == [8, 9, 10])
    }

    @Test func `Numbers that were never taken are free`() {
        var known = known(1...5)
        known.drop(after: 5)
        #expect(known.count == 5)
        known.drop(after: 3)
        #expect(noticed(known) == [1, 2, 3])
        known.append(input(4, 7), limit: 9)
        #expect(!known.differs(input(4, 7)) && known.differs(input(4)))
        known.drop(after: 0)
        #expect(known.count == 0 && noticed(known) == [])
    }

    @Test func `All are free where only newer ones are known`() {
        var known = known(1...9, limit: 2)
        known.drop(after: 3)
        #expect(known.count == 0)
        known.append(input(4), limit: 2)
        #expect(noticed(known) == [4])
    }

    @Test func `After a gap they begin anew`() {
        var known = known(1...3)
        known.append(input(7), limit: 9)
        #expect(noticed(known) == [7])
        known.append(input(8), limit: 9)
        #expect(noticed(known) == [7, 8])
    }
}
