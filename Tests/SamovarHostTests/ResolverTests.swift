import Foundation
import Synchronization
import Testing

@testable import SamovarHost

/// Names are looked up beside everything else.
struct ResolverTests {
    /// A resolver of a test, which answers each name when it is told to.
    final class Oracle: Sendable {
        private let released = Mutex<Set<String>>([])
        private let queries = Mutex<[String]>([])

        var asked: [String] { queries.withLock { $0 } }

        func release(_ name: String) { released.withLock { _ = $0.insert(name) } }

        func lookUp(_ name: String) -> Resolver.Answer {
            queries.withLock { $0.append(name) }
            while !released.withLock({ $0.contains(name) }) { Thread.sleep(forTimeInterval: 0.002) }
            return Resolver.Answer(name, addresses: ["10.0.0.\(asked.count)"])
        }
    }

    private func answer(_ resolver: Resolver, _ name: String) async -> Resolver.Answer {
        await withCheckedContinuation { continuation in resolver.ask(name) { continuation.resume(returning: $0) } }
    }

    @Test func `Who asks for a name that is being looked up gets the same answer, and the next one another`() async {
        let oracle = Oracle()
        let resolver = Resolver(lookUp: oracle.lookUp)
        async let first = answer(resolver, "store")
        async let second = answer(resolver, "store")
        while oracle.asked.isEmpty { await Task.yield() }
        // Both have asked by now, or the second is answered by another query: then this fails.
        try? await Task.sleep(for: .milliseconds(50))
        oracle.release("store")
        let addresses = await [first.addresses, second.addresses]
        #expect(addresses == [["10.0.0.1"], ["10.0.0.1"]])
        #expect(await answer(resolver, "store").addresses == ["10.0.0.2"])
        #expect(oracle.asked == ["store", "store"])
    }

    @Test func `A name that hangs does not hold up another`() async {
        let oracle = Oracle()
        let resolver = Resolver(lookUp: oracle.lookUp)
        resolver.ask("dead") { _ in }
        oracle.release("store")
        #expect(await !answer(resolver, "store").addresses.isEmpty)
        while !oracle.asked.contains("dead") { await Task.yield() }
        oracle.release("dead")
    }

    @Test func `Who is gone is kept by no name that hangs, and is forgotten when another asks for it`() throws {
        final class Asker: Sendable {}
        let oracle = Oracle()
        let resolver = Resolver(lookUp: oracle.lookUp)
        defer { oracle.release("dead") }
        weak var mailbox: Mailbox<Resolver.Answer>?
        weak var asker: Asker?
        do {
            let (leaving, other) = (try Mailbox<Resolver.Answer>(), Asker())
            (mailbox, asker) = (leaving, other)
            resolver.ask("dead", for: leaving)
            resolver.ask("dead", while: { false }, { _ in _ = other })
        }
        #expect(mailbox == nil && asker != nil)
        resolver.ask("dead") { _ in }
        #expect(asker == nil)
    }

    @Test func `Names that hang do not take ever more threads`() async {
        let oracle = Oracle()
        let resolver = Resolver(lookUp: oracle.lookUp)
        for number in 0..<64 { resolver.ask("\(number)") { _ in } }
        let answer = await answer(resolver, "one more")
        #expect(answer.failure == "one more is not looked up, for 64 other names have no answer yet")
        for number in 0..<64 { oracle.release("\(number)") }
    }

    @Test func `The system knows this machine by its name, as a number`() async {
        let answer = await answer(.shared, "localhost")
        #expect(answer.addresses.contains("127.0.0.1") || answer.addresses.contains("[::1]"), "\(answer)")
        #expect(answer.addresses.count == Set(answer.addresses).count)
    }

    @Test func `A name that is none says so`() async {
        let answer = await answer(.shared, "a..b")
        #expect(answer.addresses.isEmpty)
        #expect(answer.failure.hasPrefix("the name a..b cannot be looked up: "), "\(answer.failure)")
    }
}
