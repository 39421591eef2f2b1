import Samovar
import SamovarTesting
import Testing

/// Rows of docs/seeds.md that no other test proves.
@Suite struct SeedRowTests {
    /// The smallest program: no effect, no refusal, no output, no seed, nothing hidden.
    enum Least: OpenProgram {
        typealias State = Int
        enum Message: Portable { case add(Int) }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Least> { .state(0) }

        static func update(_ state: inout Int, _ message: Message, _ turn: Turn) -> Command<Least> {
            switch message {
            case .add(let number): state += number
            }
            return .none
        }
    }

    struct LeastApp: SamovarApp {
        static let worker = Worker<Least>.none
    }

    enum Library: OpenProgram {
        struct State: Portable {
            var books: [String] = []
            var shelf = Shelf()
            var answers: [String] = []

            /// T3: the update as a method.
            mutating func update(_ message: Message) -> Command<Library> {
                switch message {
                case .lend(let books):
                    var command = Command<Library>.none
                    for book in books {
                        self.books.append(book)
                        command = command.run(.print(book))
                    }
                    return command
                case .put(let width): return Library.put(&shelf, width)
                case .ask(let question, let reply): return .run(.ask(question, reply: reply))
                case .answered(let text): answers.append(text)
                case .doubted(let text): answers.append("\(text)?")
                }
                return .none
            }
        }

        struct Shelf: Portable { var width = 0 }

        enum Message: Portable {
            case lend([String]), put(width: Int)
            case ask(String, reply: Reply), answered(String), doubted(String)
        }

        enum Effect: Portable { case print(String), ask(String, reply: Reply) }

        /// T7: which message an answer shall be.
        enum Reply: Portable {
            case plain, doubtful

            func message(_ text: String) -> Message {
                switch self {
                case .plain: .answered(text)
                case .doubtful: .doubted(text)
                }
            }
        }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Library> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Library> { state.update(message) }

        /// W16: a step that sees a part of the state.
        static func put(_ shelf: inout Shelf, _ width: Int) -> Command<Library> {
            shelf.width += width
            return .none
        }

        static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
    }

    private static let turn = Turn(
        number: 1, now: Timestamp(microseconds: 0), origin: .store, secret: Secret(high: 0, low: 0))

    @Test func `K8 An update changes the state in place, and a copy from before stays as it was`() {
        var state = Library.State()
        let before = state
        _ = Library.update(&state, .put(width: 3), Self.turn)
        #expect(state.shelf.width == 3 && before.shelf.width == 0)
    }

    @Test func `K9 State and effects are built side by side`() throws {
        let store = try TestStore(Library.self)
        store.send(.lend(["a", "b"])) { $0.books = ["a", "b"] }
        store.expectEffects([.print("a"), .print("b")])
        store.complete(.print("a"))
        store.complete(.print("b"))
    }

    @Test func `K27 An open program shows its state and takes its messages`() throws {
        let message: Least.Input = .add(2)
        var store = try LocalStore(Least.self)
        try store.send(message)
        #expect(store.view == 2 && store.view == store.state)
    }

    @Test func `K28 The types that a program does not need have defaults`() throws {
        #expect(Least.Seed.self == NoSeed.self)
        #expect(Least.Effect.self == Never.self && Least.Refusal.self == Never.self && Least.Output.self == Never.self)
        #expect(Least.schema == Schema(name: "Least", version: 1))
        #expect(Least.subscriptions(0).isEmpty)
        #expect(LeastApp.worker.queues.isEmpty && LeastApp.gates.isEmpty && LeastApp.observers.isEmpty)
        #expect(LeastApp.line(of: 7) == "7")
    }

    @Test func `E2 Any value may be a state`() throws {
        let store = try TestStore(Least.self)
        store.send(.add(2)) { $0 = 2 }
        store.restart()
        store.expectState(2)
    }

    @Test(arguments: [true, false]) func `E18 The list of handlers may have conditions and loops`(_ hasMail: Bool) {
        func handler(_ queue: Queue) -> Handler<Library, NoEnvironment> { group(queue) { take(.print("a")) { job in nil } } }
        let worker = Worker<Library>.handlers {
            if hasMail { handler("mail") }
            if hasMail { handler("fast") } else { handler("slow") }
            for name in ["x", "y"] { handler(Queue(name)) }
            switch hasMail {
            case true: handler("yes")
            case false: handler("no")
            }
            if #available(macOS 15, *) { handler("new") }
        }
        #expect(
            worker.queues == (hasMail ? ["mail", "fast", "x", "y", "yes", "new"] : ["slow", "x", "y", "no", "new"]))
    }

    @Test func `T2 A message is tested, compared, encoded and logged as a value`() throws {
        let message = Library.Message.put(width: 3)
        #expect(message == .put(width: 3) && message != .put(width: 4))
        #expect("\(message)" == "put(width: 3)")
        var written: [String] = []
        var store = try JournalingLocalStore(
            Library.self, journal: EachTurn { message, turn in written.append("\(turn.number) \(message)") })
        try store.send(message)
        #expect(written == ["2 put(width: 3)"])
        // Through the codec and a journal, and back.
        let test = try TestStore(Library.self)
        test.send(message) { $0.shelf.width = 3 }
        test.restart()
    }

    @Test func `T3 The update may be a method of the state`() {
        var state = Library.State()
        #expect(state.update(.lend(["a"])) == .run(.print("a")))
        #expect(state.books == ["a"])
    }

    @Test func `T7 Who orders an effect says which message its answer shall be`() throws {
        let store = try TestStore(Library.self)
        for reply in [Library.Reply.plain, .doubtful] {
            let effect = Library.Effect.ask("tea", reply: reply)
            store.send(.ask("tea", reply: reply))
            // What the handler does.
            store.complete(effect, with: reply.message("yes")) { $0.answers.append(reply == .plain ? "yes" : "yes?") }
        }
    }

    @Test func `W16 A step may be given a part of the state`() throws {
        let store = try TestStore(Library.self)
        store.send(.put(width: 3)) { $0.shelf.width = 3 }
    }
}
