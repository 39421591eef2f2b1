import Foundation
import ProcessSupport
import Testing

@testable import SamovarHost

/// The name by which a journal says where it has gone.
@Suite struct JournalLocationTests {
    private let here = FileManager.default.currentDirectoryPath

    @Test func `A folder is named by its whole path, however it is given`() {
        let location = JournalLocation(dataFolder: "data")
        #expect(location.fullName == "\(here)/data")
        #expect(location.isNamed(by: "\(here)/data") && !location.isNamed(by: "\(here)/other"))
        for path in ["\(here)/data", "\(here)/./data/", "./data", "other/../data"] {
            #expect(JournalLocation(dataFolder: path).isNamed(by: location.fullName), "\(path)")
        }
    }

    @Test(arguments: [(0o700, nil), (0o755, nil), (0o770, "770"), (0o1777, "1777")] as [(mode_t, String?)])
    func `A data folder whose files others may replace is told with its mode and the remedy`(
        _ mode: mode_t, _ words: String?
    ) throws {
        let scratch = try Scratch()
        let location = JournalLocation(dataFolder: scratch.folder("data"))
        #expect(location.exposure == nil, "it is not there")
        try FileManager.default.createDirectory(atPath: location.dataFolder, withIntermediateDirectories: false)
        #expect(chmod(location.dataFolder, mode) == 0)
        let expected = words.map {
            "the data folder \(location.dataFolder) may be changed by others (mode \($0)): protect it with chmod 700"
        }
        #expect(location.exposure == expected)
    }

    @Test func `A path that is not whole names only what is given in the same words`() {
        #expect(JournalLocation(dataFolder: "data").isNamed(by: "data"))
        for path in ["\(here)/data", "./data", "other"] {
            #expect(!JournalLocation(dataFolder: path).isNamed(by: "data"), "\(path)")
        }
    }
}
