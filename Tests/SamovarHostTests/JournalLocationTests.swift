import Foundation
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

    @Test func `A path that is not whole names only what is given in the same words`() {
        #expect(JournalLocation(dataFolder: "data").isNamed(by: "data"))
        for path in ["\(here)/data", "./data", "other"] {
            #expect(!JournalLocation(dataFolder: path).isNamed(by: "data"), "\(path)")
        }
    }
}
