import SamovarLoad
import SamovarStore
import Testing

@testable import SamovarLoadTest

struct ProcessFiguresTests {
    private func sample(_ seconds: Double, _ bytes: Int64 = 100) -> ProcessSample {
        ProcessSample(processorSeconds: seconds, residentBytes: bytes)
    }

    @Test func `Load is the processor's time over the time between two looks`() {
        var figures = ProcessFigures("store")
        figures.add(sample(10), of: 7, at: 0)
        figures.add(sample(10.5), of: 7, at: 1)
        figures.add(sample(12.5), of: 7, at: 2)
        #expect(figures.points.map(\.load) == [0.5, 2])
        #expect(figures.meanLoad == 1.25 && figures.highestLoad == 2 && figures.processorSeconds == 2.5)
    }

    @Test func `After a death another process goes on under the name`() {
        var figures = ProcessFigures("store")
        figures.add(sample(10), of: 7, at: 0)
        figures.add(sample(0.25), of: 8, at: 1)
        figures.add(sample(0.5), of: 8, at: 2)
        #expect(figures.points.map(\.time) == [2])
        #expect(figures.highestLoad == 0.25)
    }

    @Test func `Two looks at almost the same time are one`() {
        var figures = ProcessFigures("store")
        figures.add(sample(0), at: 0)
        figures.add(sample(0.5), at: 1)
        figures.add(sample(0.51), at: 1.01)
        #expect(figures.points.count == 1)
    }
}
