import SamovarCore
import Testing

@Suite struct CommandTests {
    typealias Order = Command<Orchard>.Order

    static let apple = Orchard.Effect(name: "apple")

    @Test func `None has no orders`() {
        #expect(Command<Orchard>.none.isEmpty)
        #expect(Array(Command<Orchard>.none) == [])
    }

    @Test func `Orders keep their sequence`() {
        let command = Command<Orchard>.run(Self.apple, queue: "cellar").then(.quiet).run(Self.apple)
        #expect(
            Array(command) == [
                .run(Self.apple, RunOptions(queue: "cellar")), .then(.quiet), .run(Self.apple, RunOptions()),
            ])
        #expect(command[1] == .then(.quiet))
    }

    @Test func `A batch is flat however it is nested`() {
        let nested = Command<Orchard>.batch([.none, .batch([.then(.quiet), .batch([])]), .batch([.batch([.then(.endless)])])])
        #expect(Array(nested) == [.then(.quiet), .then(.endless)])
    }

    @Test func `Commands with equal orders are equal however they were made`() {
        #expect(Command<Orchard>.batch([]) == .none)
        #expect(Command<Orchard>.batch([.none, .none]) == .none)
        #expect(Command<Orchard>.batch([.then(.quiet)]) == .then(.quiet))
        #expect(Command<Orchard>.none.then(.quiet) == .then(.quiet))
        #expect(Command<Orchard>.batch([.then(.quiet), .run(Self.apple)]) == .then(.quiet).run(Self.apple))
        #expect(Command<Orchard>.then(.quiet).run(Self.apple) != .run(Self.apple).then(.quiet))
        #expect(Command<Orchard>.run(Self.apple) != .run(Self.apple, queue: "cellar"))
        #expect(Command<Orchard>.run(Self.apple) == .run(Self.apple, queue: .default))
        #expect(RunOptions.default == RunOptions() && RunOptions.default.isDefault)
    }
}
