import SamovarCore
import SamovarText
import SamovarWorker
import Testing

@testable import SamovarCommands

/// A program whose view has dictionaries and sets.
private enum Shelf: OpenProgram {
    struct State: Portable {
        var zebra = 1
        var counts = Dictionary(uniqueKeysWithValues: (100..<300).map { ("item\($0)", $0) })
        var a: Set = [3, 1, 2]
    }

    enum Message: Portable { case fill }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> { .none }
}

private enum ShelfApp: SamovarApp {
    static let worker = Worker<Shelf>.none
}

@Suite struct ShownViewTests {
    @Test func `Dictionaries and sets of a view are shown in one order, and fields as they are declared`() {
        let rows = (100..<200).map { "  item\($0)  \($0)" } + ["  … and 100 more"]
        let expected = ["zebra  1", "counts"] + rows + ["a", "  - 1", "  - 2", "  - 3"]
        #expect(ShelfApp.screen(of: Shelf.State()) == expected.joined(separator: "\n"))
        let line = "zebra 1, counts {item100 100, item101 101, item102 102, …}, a [1, 2, 3]"
        #expect(ShelfApp.line(of: Shelf.State()) == line)
    }

    @Test func `A view of another shape is bad data, and it is said what is wrong with it`() {
        for show in [AppTypes<ShelfApp>.screen, AppTypes<ShelfApp>.line] {
            let error = #expect(throws: ViewError.self) { try show([0x80]) }
            let failure = error.flatMap { CommandFailure($0) }
            #expect(failure?.code == .badData)
            #expect(
                failure?.description == "the view cannot be read: missing field \"zebra\" in State; allowed: zebra, counts, a")
        }
    }
}
