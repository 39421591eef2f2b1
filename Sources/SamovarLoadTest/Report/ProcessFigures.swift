import SamovarLoad
import SamovarStore

/// What one process took of its machine, over the test and over its own deaths.
struct ProcessFigures {
    struct Point {
        /// Seconds since the start of the test.
        let time: Double
        /// Of one processor: 2 if it used two of them all the time.
        let load: Double
        let residentBytes: Int64
    }

    let name: String
    private(set) var points: [Point] = []
    /// Seconds of a processor, as far as they were seen.
    private(set) var processorSeconds = 0.0
    private var last: (process: Int32, time: Double, sample: ProcessSample)?

    init(_ name: String) {
        self.name = name
    }

    /// - Parameter process: its number; another one after a death.
    mutating func add(_ sample: ProcessSample, of process: Int32 = 0, at time: Double) {
        // Too short for a rate: the system counts time in hundredths of a second.
        if let last, last.process == process, time < last.time + 0.25 { return }
        defer { last = (process, time, sample) }
        // What a process did before it was first seen belongs to no second.
        guard let last, last.process == process else { return }
        let used = max(0, sample.processorSeconds - last.sample.processorSeconds)
        processorSeconds += used
        points.append(Point(time: time, load: used / (time - last.time), residentBytes: sample.residentBytes))
    }

    var meanLoad: Double { points.isEmpty ? 0 : points.reduce(0) { $0 + $1.load } / Double(points.count) }
    var highestLoad: Double { points.map(\.load).max() ?? 0 }
    var highestMemory: Int64 { points.map(\.residentBytes).max() ?? 0 }
}
