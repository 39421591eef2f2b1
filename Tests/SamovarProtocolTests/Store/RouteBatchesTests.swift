import Testing

@testable import SamovarProtocol

/// One frame for each peer, in the order in which they first appeared.
@Suite struct RouteBatchesTests {
    private func batches(_ entries: [(Int, Route)]) -> RouteBatches<Int> {
        var batches = RouteBatches<Int>()
        for (entry, route) in entries { batches.append(entry, for: route) }
        return batches
    }

    private func taken(_ batches: inout RouteBatches<Int>) -> [Route: [Int]] {
        Dictionary(uniqueKeysWithValues: batches.takeAll().map { ($0.route, $0.entries) })
    }

    @Test func `Entries of one peer are together and in order, and peers in that of their first`() {
        var batches = batches([(1, client(2)), (2, client(1)), (3, client(1)), (4, client(2)), (5, client(3)), (6, client(1))])
        let all = batches.takeAll()
        #expect(all.map(\.route) == [client(2), client(1), client(3)])
        #expect(all.map(\.entries) == [[1, 4], [2, 3, 6], [5]])
        #expect(batches.takeAll().isEmpty)
        batches.append(7, for: client(1))
        #expect(taken(&batches) == [client(1): [7]], "nothing is left of the round before")
    }

    @Test(arguments: 1...3) func `Who is gone takes its entries with it, and what comes after finds its peer`(_ number: UInt8) {
        var batches = batches([(1, client(1)), (2, client(2)), (3, client(3))])
        batches.remove(client(9))
        batches.remove(client(number))
        for other: UInt8 in [3, 1, 2] where other != number { batches.append(Int(other) * 10, for: client(other)) }
        batches.append(99, for: client(number))
        var expected = [client(1): [1, 10], client(2): [2, 20], client(3): [3, 30]]
        expected[client(number)] = [99]
        #expect(taken(&batches) == expected)
    }

    @Test func `Whoever is left alone is found`() {
        var batches = batches([(1, client(1)), (2, client(2))])
        batches.remove(client(1))
        batches.append(3, for: client(2))
        #expect(taken(&batches) == [client(2): [2, 3]])
    }

    @Test func `The only one may go`() {
        var batches = batches([(1, client(1))])
        batches.remove(client(1))
        #expect(batches.takeAll().isEmpty)
        batches.append(2, for: client(2))
        #expect(taken(&batches) == [client(2): [2]])
    }
}
