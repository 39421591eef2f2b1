import Foundation
import ProcessSupport
import SamovarCore
import SamovarStore
import Testing

@testable import SamovarWeb

/// Whose states an explorer goes on from.
@Suite struct FolderCheckpointsTests {
    @Test func `States of another build or another timeline are not gone on from, and take no room`() throws {
        let scratch = try Scratch()
        let place = scratch.folder("states")
        let (home, abroad) = (Timeline(high: 1, low: 1), Timeline(high: 2, low: 2))
        let first = FolderCheckpoints(in: place, of: home, by: "one")
        try first.save(PastCheckpoint(turn: 100, state: [1, 2, 3]))
        let next = FolderCheckpoints(in: place, of: home, by: "one")
        #expect(next.turns == [100] && next.load(100)?.state == [1, 2, 3], "another process of this build")
        for (timeline, build) in [(home, "two"), (abroad, "two"), (home, "one")] {
            let other = FolderCheckpoints(in: place, of: timeline, by: build)
            #expect(other.turns == [] && other.load(100) == nil, "\(timeline) \(build)")
            try other.save(PastCheckpoint(turn: 100, state: [4]))
            #expect(try FileManager.default.contentsOfDirectory(atPath: place).count == 1)
        }
    }
}
