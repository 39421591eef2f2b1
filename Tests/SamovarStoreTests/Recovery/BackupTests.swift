import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// A backup as its asker sees it.
@Suite struct BackupTests {
    private final class Folders {
        var begun: [String] = []
    }

    private var backup = Backup()
    private let folders = Folders()

    private mutating func ask(_ id: String, durable: Int = 9, isServing: Bool = true) -> Result<MessagePackValue, AdminRefusal> {
        let request = AdminRequest(id: 1, verb: "export", arguments: ["id": .string(id), "folder": "/copy"])
        let folders = folders
        return Result { () throws(AdminRefusal) in
            try backup.answer(request, durable: durable, isServing: isServing) { folders.begun.append($0) }
        }
    }

    private mutating func refusal(_ id: String, isServing: Bool = true) -> String? {
        if case .failure(let refusal) = ask(id, isServing: isServing) { refusal.text } else { nil }
    }

    private func answer(_ copied: Int, done: Bool = false) -> MessagePackValue {
        ["turn": 9, "copied": .int(Int64(copied)), "done": .bool(done)]
    }

    @Test mutating func `The same id asks how far it is, and begins nothing`() throws {
        #expect(try ask("a").get() == answer(0))
        backup.copied(through: 5)
        #expect(try ask("a", durable: 20, isServing: false).get() == answer(5))
        backup.copied(through: 9)
        backup.ended(nil)
        #expect(try ask("a").get() == answer(9, done: true) && folders.begun == ["/copy"])
    }

    @Test mutating func `Another one waits until it is done`() throws {
        _ = ask("a")
        #expect(refusal("b") == "another backup is being made, up to turn 9: ask again")
        backup.ended(nil)
        #expect(try ask("b").get() == answer(0) && folders.begun.count == 2)
    }

    @Test mutating func `A failure is told until another one begins`() throws {
        _ = ask("a")
        backup.ended("no space is left")
        for _ in 1...2 { #expect(refusal("a") == "the backup failed: no space is left") }
        #expect(try ask("b").get() == answer(0))
    }

    @Test mutating func `None begins in a store that is about to stop`() {
        #expect(refusal("a", isServing: false) == "the store is about to stop: when it is back, ask again" && folders.begun.isEmpty)
        #expect(refusal("a") == nil)
    }
}
