import ZeroMQ

/// The names that one socket has asked for. An answer that comes when its attempt is over is for the next attempt at that name, so a
/// resolver that is slower than an attempt is waited for all the same.
struct NameDesk: ~Copyable {
    private let resolver: Resolver
    /// Nothing is made for a peer whose stores have no names.
    private var mailbox: Mailbox<Resolver.Answer>?
    private var slot: Poller.Slot?
    private var asked: Set<String> = []
    /// That came late.
    private var answers: [String: Resolver.Answer] = [:]
    /// The name of the attempt.
    private var wanted: String?

    init(_ resolver: Resolver) {
        self.resolver = resolver
    }

    /// Has a name looked up for this attempt.
    mutating func ask(_ name: String, _ poller: inout Poller) throws(ZeroMQError) {
        wanted = name
        let mailbox = try open(&poller)
        if answers[name] != nil {
            mailbox.wakeup.signal()
        } else if asked.insert(name).inserted {
            resolver.ask(name, for: mailbox)
        }
    }

    /// Ends the next wait of the poller at once, if there is a descriptor for that.
    mutating func wake(_ poller: inout Poller) {
        // Without one, the wait ends when its time is over.
        (try? open(&poller))?.wakeup.signal()
    }

    private mutating func open(_ poller: inout Poller) throws(ZeroMQError) -> Mailbox<Resolver.Answer> {
        if let mailbox { return mailbox }
        let mailbox = try Mailbox<Resolver.Answer>()
        slot = poller.add(mailbox.wakeup)
        self.mailbox = mailbox
        return mailbox
    }

    /// The attempt is over.
    mutating func forget() { wanted = nil }

    /// The answer that the attempt waits for, once.
    mutating func take(_ poller: borrowing Poller) -> Resolver.Answer? {
        guard let mailbox, let slot else { return nil }
        if poller.isReadable(slot) {
            for answer in mailbox.takeAll() {
                asked.remove(answer.name)
                answers[answer.name] = answer
            }
        }
        guard let name = wanted, let answer = answers.removeValue(forKey: name) else { return nil }
        wanted = nil
        return answer
    }
}
