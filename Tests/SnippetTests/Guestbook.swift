import Foundation
import Samovar
import SamovarTesting
import Synchronization
import Testing
import XCTest

enum Guestbook: Program {
    struct State: Portable {
        var name = "guestbook"
        var guests: [String] = []
    }

    enum Input: Portable { case sign(name: String), rename(to: String), clear }
    enum Message: Portable { case signed(name: String), renamed(to: String), cleared }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Guestbook> { .state(State()) }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message {
        switch input {
        case .sign(let name): .signed(name: name)
        case .rename(let name): .renamed(to: name)
        case .clear: .cleared
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Guestbook> {
        switch message {
        case .signed(let name): state.guests.append(name)
        case .renamed(let name): state.name = name
        case .cleared: state.guests = []
        }
        return .none
    }

    // snippet: panel-view
    static func view(_ state: State) -> Panel<Input> {
        Panel(
            "Guestbook",
            [
                .text("\(state.guests.count) guests", .strong),
                .columns([.button("sign", send: .sign(name: "anonymous")), .button("clear", send: .clear)]),
                .field("Name of the book", holds: state.name) { .rename(to: $0) },
            ])
    }
    // end
}

private let audit = Audit()

private final class Audit: Sendable {
    let lines = Mutex<[String]>([])
    func write(_ line: String) { lines.withLock { $0.append(line) } }
}

struct GuestbookApp: SamovarApp {
    static let worker = Worker<Guestbook>.none

    // snippet: gates-and-observers
    static var gates: [InputGate<Guestbook>] {
        [
            .rateLimit(20, per: .seconds(1)),
            InputGate("length") { input, _, _ in
                if case .sign(let name) = input, name.count > 100 { "a name has at most 100 characters" } else { nil }
            },
        ]
    }

    static var observers: [TurnObserver<Guestbook>] {
        [
            TurnObserver { message, _, turn in
                "\(turn.number) \(message)"
            } deliver: { line in
                audit.write(line)
            }
        ]
    }
    // end
}

@Suite struct GuestbookTests {
    @Test func `A gate holds back what is too long or too much, and an observer writes down what is applied`() throws {
        let store = try TestStore(
            Guestbook.self, exhaustive: false, gates: GuestbookApp.gates, observers: GuestbookApp.observers)
        store.send(.sign(name: "ann"))
        store.expectRejection(
            of: .sign(name: String(repeating: "a", count: 101)), "length: a name has at most 100 characters")
        for _ in 0..<18 { store.send(.clear) }
        store.expectRejection(of: .clear, "rate limit: more than 20 inputs in 1.0 seconds")
        #expect(audit.lines.withLock { $0.first } == #"3 signed(name: "ann")"#)
        #expect(audit.lines.withLock { $0.count } == 19)
    }

    @Test func `What is typed into the field is what is sent`() throws {
        let store = try TestStore(Guestbook.self)
        guard case .field(let field)? = store.view.nodes.last else { return #expect(Bool(false)) }
        #expect(field.first == .rename(to: "a") && field.second == .rename(to: "b"))
    }
}

/// Without a running test of Swift Testing a store reports where it is told to.
final class GuestbookXCTests: XCTestCase {
    func testSigning() throws {
        // snippet: testing-xctest
        let store = try TestStore(
            Guestbook.self, exhaustive: false, reporter: TestReporter { text, location in XCTFail(text) })
        // end
        store.send(.sign(name: "ann")) { $0.guests = ["ann"] }
    }
}
