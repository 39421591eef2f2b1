import Foundation
import ProcessSupport
import Testing

@testable import SamovarHost

/// What is copied of a trimmed journal while its store goes on.
@Suite struct JournalCopyTests {
    @Test func `A snapshot that is taken away while the batches are copied is in the copy`() throws {
        let scratch = try Scratch()
        let copy = scratch.folder("copy")
        try JournalCopy.export(ChangingJournal(snapshots: [10, 8]), through: 10, to: copy, outside: nil) { _ in }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(copy)/snapshots") == ["10"])
    }

    @Test func `A copy in the data folder itself is refused, whichever way its path leads there`() throws {
        let scratch = try Scratch()
        let (files, data) = (FileManager.default, scratch.folder("data"))
        try files.createDirectory(atPath: data, withIntermediateDirectories: false)
        try files.createSymbolicLink(atPath: scratch.folder("link"), withDestinationPath: data)
        for path in ["data/replacement", "data/new/copy", "data/../data/copy", "none/../data/copy", "link/replacement", "link"] {
            let error = #expect(throws: StoreError.self) {
                try JournalCopy.export(
                    ChangingJournal(snapshots: [10, 8]), through: 10, to: scratch.folder(path), outside: data
                ) { _ in }
            }
            #expect(error?.description.contains("is in the data folder \(data) itself") == true, "\(path)")
        }
        #expect(try files.contentsOfDirectory(atPath: data).isEmpty)
        for path in ["copy", "data/../other", "data-copy"] {
            try JournalCopy.export(
                ChangingJournal(snapshots: [10, 8]), through: 10, to: scratch.folder(path), outside: data
            ) { _ in }
        }
    }

    @Test func `A journal that is trimmed while it is copied is copied again`() async throws {
        let scratch = try Scratch()
        let journal = try FollowedPlace(FollowedJournal(trims: 2)).location
        #expect(try await JournalBackup.run(journal, to: scratch.folder("copy")) == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["copy"])
    }

    @Test func `Without a snapshot that stands for what was trimmed it is no copy, and is to be made again`() throws {
        let scratch = try Scratch()
        let error = #expect(throws: StoreError.self) {
            try JournalCopy.export(
                ChangingJournal(snapshots: [10, 8], gone: [10]), through: 10, to: scratch.folder("copy"), outside: nil
            ) { _ in }
        }
        #expect(error?.code == .again)
        #expect(error?.description.hasSuffix("it has made newer ones meanwhile; do it again") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).isEmpty)
    }
}
