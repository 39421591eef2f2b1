import Foundation
import Synchronization

/// Looks host names up, each on a thread of its own while it takes: the system's resolver may hang as long as it likes, and neither a loop
/// waits for it nor a process that ends.
///
/// One query at a time for each name, whoever asks: who asks meanwhile gets the same answer.
final class Resolver: Sendable {
    /// What a name stands for.
    struct Answer: Sendable {
        let name: String
        /// In the order in which they are to be tried, as ZeroMQ spells them; none if the name cannot be looked up.
        let addresses: [String]
        /// In words, if there are none.
        let failure: String

        init(_ name: String, addresses: [String] = [], failure: String? = nil) {
            self.name = name
            self.addresses = addresses
            self.failure = failure ?? (addresses.isEmpty ? "the name \(name) has no address" : "")
        }
    }

    /// The one of this process.
    static let shared = Resolver(lookUp: system)
    /// Names that are looked up at once, each of which takes a thread.
    private static let maximumNames = 64

    private struct Asker {
        let isWaiting: @Sendable () -> Bool
        let tell: @Sendable (Answer) -> Void
    }

    private let lookUp: @Sendable (String) -> Answer
    private let waiting = Mutex<[String: [Asker]]>([:])

    /// - Parameter lookUp: may take long.
    init(lookUp: @escaping @Sendable (String) -> Answer) {
        self.lookUp = lookUp
    }

    /// Posts the answer, if its mailbox is still there: a name may hang for ever, and others may ask for it again and again.
    func ask(_ name: String, for mailbox: Mailbox<Answer>) {
        ask(name, while: { [weak mailbox] in mailbox != nil }, { [weak mailbox] answer in mailbox?.post(answer) })
    }

    /// Calls `done` with the answer, on another thread or at once.
    ///
    /// - Parameter isWaiting: whether somebody still wants it; else it is forgotten when the next one asks for the name.
    func ask(
        _ name: String, while isWaiting: @escaping @Sendable () -> Bool = { true }, _ done: @escaping @Sendable (Answer) -> Void
    ) {
        enum Next { case wait, begin, refuse }
        let asker = Asker(isWaiting: isWaiting, tell: done)
        let next = waiting.withLock { waiting -> Next in
            if waiting[name] != nil {
                waiting[name]?.removeAll { !$0.isWaiting() }
                waiting[name]?.append(asker)
                return .wait
            }
            guard waiting.count < Self.maximumNames else { return .refuse }
            waiting[name] = [asker]
            return .begin
        }
        switch next {
        case .wait: break
        case .begin:
            do {
                try startThread("samovar-names") { [self] in tell(lookUp(name), to: name) }
            } catch {
                tell(Answer(name, failure: "the name \(name) cannot be looked up: \(error)"), to: name)
            }
        case .refuse:
            done(Answer(name, failure: "\(name) is not looked up, for \(Self.maximumNames) other names have no answer yet"))
        }
    }

    private func tell(_ answer: Answer, to name: String) {
        for asker in waiting.withLock({ $0.removeValue(forKey: name) }) ?? [] { asker.tell(answer) }
    }

    /// By the resolver of the system, and in its order.
    private static let system: @Sendable (String) -> Answer = { name in
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            return Answer(name, failure: "the name \(name) cannot be looked up: \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            guard let address = number(of: entry.pointee), !addresses.contains(address) else { continue }
            addresses.append(address)
        }
        return Answer(name, addresses: addresses)
    }

    private static func number(of entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
            return nil
        }
        let number = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return entry.ai_family == AF_INET6 ? "[\(number)]" : number
    }
}
