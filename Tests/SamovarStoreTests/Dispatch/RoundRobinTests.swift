import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Workers are served in turn, and may leave in thousands.
struct RoundRobinTests {
    private func turns(_ count: Int, of rotation: inout RoundRobin<Int>) -> [Int?] { (0..<count).map { _ in rotation.next() } }

    private func rotation(_ members: ClosedRange<Int>) -> RoundRobin<Int> {
        var rotation = RoundRobin<Int>()
        for member in members { rotation.add(member) }
        return rotation
    }

    @Test func `Members come in turn, and nobody if there is none`() {
        var members = rotation(1...3)
        var nobody = RoundRobin<Int>()
        #expect(turns(7, of: &members) == [1, 2, 3, 1, 2, 3, 1])
        #expect(nobody.next() == nil)
    }

    @Test func `Who has left is passed over and not counted`() {
        var members = rotation(1...5)
        members.remove(2)
        members.remove(4)
        #expect(members.count == 3)
        #expect(turns(4, of: &members) == [1, 3, 5, 1])
        #expect(members.first { $0 % 2 == 0 } == nil)
    }

    @Test func `When half are gone, those that stay keep their order`() {
        var members = rotation(1...4)
        members.remove(1)
        members.remove(2)
        #expect(members.count == 2 && members.first { _ in true } == 3)
        members.remove(3)
        #expect(members.count == 1 && turns(2, of: &members) == [4, 4])
        members.add(1)
        #expect(turns(2, of: &members) == [4, 1])
    }

    @Test func `Who comes back comes once`() {
        var members = rotation(1...5)
        members.remove(2)
        members.add(2)
        #expect(members.count == 5)
        #expect(turns(5, of: &members).compactMap(\.self).sorted() == [1, 2, 3, 4, 5])
    }

    @Test func `Who comes back before half are gone has its old place, and afterwards the last one`() {
        var members = rotation(1...5)
        for member in 1...2 { members.remove(member) }
        members.add(1)
        #expect(turns(5, of: &members) == [1, 3, 4, 5, 1])
        members = rotation(1...5)
        for member in 1...3 { members.remove(member) }
        members.add(1)
        #expect(turns(4, of: &members) == [4, 5, 1, 4])
    }

    @Test(.timeLimit(.minutes(1))) func `A hundred thousand may leave at once`() {
        var members = rotation(1...100_000)
        for member in 1...100_000 { members.remove(member) }
        #expect(members.count == 0)
        #expect(members.next() == nil)
    }
}
