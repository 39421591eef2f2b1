import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The newest acknowledgement of each job that streams.
@Suite struct StreamMarksTests {
    private func mark(_ lease: Int, _ index: Int) -> StreamMark { StreamMark(lease: Lease(start: 1, counter: lease), index: index) }

    private func taken(_ marks: inout StreamMarks, withSources: Bool = true) -> [[StreamMark]] {
        marks.takeAll(withSources: withSources).map(\.marks)
    }

    @Test func `The greatest number of each job counts, by the order of peers and leases`() {
        var marks = StreamMarks()
        for mark in [mark(2, 3), mark(2, 2), mark(1, 1)] { marks.note(mark, for: worker(2)) }
        marks.note(mark(3, 9), for: worker(1))
        #expect(taken(&marks) == [[mark(3, 9)], [mark(1, 1), mark(2, 3)]])
        #expect(marks.isEmpty && taken(&marks).isEmpty)
    }

    @Test func `Those of sources may be held back, and then leave with the next`() {
        var marks = StreamMarks()
        marks.note(mark(1, 1), isOfSource: true, for: worker(1))
        marks.note(mark(2, 2), for: worker(1))
        marks.note(mark(3, 3), isOfSource: true, for: worker(2))
        #expect(taken(&marks, withSources: false) == [[mark(2, 2)]])
        #expect(taken(&marks, withSources: false) == [] && !marks.isEmpty)
        marks.note(mark(1, 4), isOfSource: true, for: worker(1))
        #expect(taken(&marks) == [[mark(1, 4)], [mark(3, 3)]])
        #expect(marks.isEmpty)
        marks.note(mark(1, 5), for: worker(1))
        #expect(taken(&marks, withSources: false) == [[mark(1, 5)]], "which lease is a source's is not kept")
    }

    @Test func `Who is gone is told nothing`() {
        var marks = StreamMarks()
        for number: UInt8 in 1...2 { marks.note(mark(Int(number), 1), for: worker(number)) }
        marks.remove(worker(1))
        #expect(taken(&marks) == [[mark(2, 1)]])
    }

    @Test func `Over the limit they wait, until no job has ended from one tick to the next`() {
        var marks = StreamMarks()
        marks.note(mark(1, 1), for: worker(1))
        marks.note(mark(2, 1), isOfSource: true, for: worker(1))
        func due(_ isOverLimit: Bool = true) -> [[StreamMark]] { marks.takeDue(isOverLimit: isOverLimit).map(\.marks) }
        #expect(due() == [])
        marks.tick(results: 5)
        #expect(due() == [], "what happened before this tick is not known")
        marks.tick(results: 6)
        #expect(due() == [], "a job has ended")
        marks.tick(results: 6)
        #expect(due() == [[mark(1, 1)]], "a source waits")
        marks.note(mark(1, 2), for: worker(1))
        marks.tick(results: 6)
        #expect(due() == [], "another window begins anew")
        #expect(due(false) == [[mark(1, 2), mark(2, 1)]] && marks.isEmpty)
    }
}
