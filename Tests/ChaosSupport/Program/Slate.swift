public import SamovarCore

/// The program that is tormented: a slate with columns, on which clients write numbered lines, and jobs that lines ask for.
///
/// Whatever is lost, applied twice or applied in another order shows in the state, and through the digest in every later view.
public enum Slate: Program {
    /// What a worker does with a job.
    public enum Kind: String, Portable, CaseIterable {
        /// Answers at once.
        case quick
        /// Takes its time, so that its worker is often killed meanwhile.
        case slow
        /// Fails at its first attempt.
        case flaky
        /// Fails for good, and the program is told.
        case hopeless
        /// Fails for good, and the program has no message for that: the effect stays dead.
        case doomed
    }

    public struct Line: Portable {
        /// One lane of one life of a client: it has one line under way at a time.
        public let column: String
        /// From 1, without a hole.
        public let number: Int
        public let job: Kind?
        /// Makes the journal grow.
        public let padding: String?

        public init(column: String, number: Int, job: Kind?, padding: String? = nil) {
            self.column = column
            self.number = number
            self.job = job
            self.padding = padding
        }

        /// Without what makes it longer: so it stands in histories.
        public var bare: Line { Line(column: column, number: number, job: job) }
        public var name: String { "\(column)#\(number)" }
        /// The life of the client that wrote it; its columns are `life/lane`.
        public var life: String { String(column.prefix { $0 != "/" }) }
    }

    public struct State: Portable {
        /// The newest number in each column.
        public var columns: [String: Int] = [:]
        public var lines = 0
        /// Jobs that are ordered and not answered.
        public var open: Set<String> = []
        public var answered = 0
        public var gaveUp = 0
        /// Nonzero between the two turns of a group, which nobody may see.
        public var balance = 0
        /// What should never be; the first of it.
        public var faults: [String] = []
        /// Bytes that the view carries for nothing.
        public var ballast = 0
        /// Over every turn's number, time, random number and message, in order.
        public var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    }

    public enum Input: Portable {
        case write(Line)
        /// Makes every view longer by so many bytes, at most 1 MiB.
        case weigh(bytes: Int)
    }

    public enum Message: Portable {
        case written(Line)
        case balanced
        case weighed(bytes: Int)
        case answered(job: String)
        case gaveUp(job: String)
    }

    public enum Effect: Portable {
        case run(job: String, kind: Kind)
    }

    public enum Refusal: Error, Portable {
        case unlucky(number: Int)
    }

    public struct ViewState: Portable {
        public let lines: Int
        public let open: Int
        public let answered: Int
        public let gaveUp: Int
        public let balance: Int
        public let faults: [String]
        public let digest: UInt64
        public var ballast: String

        /// Without what makes it longer: so it stands in histories.
        public var bare: ViewState {
            var view = self
            view.ballast = ""
            return view
        }
    }

    /// Numbers that the program turns away.
    public static func isUnlucky(_ number: Int) -> Bool { number % 17 == 0 }

    public static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Slate> { .state(State()) }

    public static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .write(let line):
            if isUnlucky(line.number) { throw .unlucky(number: line.number) }
            return .written(line)
        case .weigh(let bytes): return .weighed(bytes: min(max(0, bytes), 1 << 20))
        }
    }

    public static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Slate> {
        state.combine(turn)
        switch message {
        case .written(let line):
            state.combine(line.name)
            return state.write(line)
        case .balanced:
            state.balance -= 1
        case .weighed(let bytes):
            state.ballast = bytes
        case .answered(let job):
            state.combine(job)
            state.answered += 1
            state.close(job)
        case .gaveUp(let job):
            state.combine("!" + job)
            state.gaveUp += 1
            state.close(job)
        }
        return .none
    }

    public static func view(_ state: State) -> ViewState {
        ViewState(
            lines: state.lines, open: state.open.count, answered: state.answered, gaveUp: state.gaveUp, balance: state.balance,
            faults: state.faults, digest: state.digest, ballast: String(repeating: "x", count: state.ballast))
    }

    public static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        switch effect {
        case .run(_, .doomed): nil
        case .run(let job, _): .gaveUp(job: job)
        }
    }
}

extension Slate.State {
    mutating func write(_ line: Slate.Line) -> Command<Slate> {
        let last = columns[line.column] ?? 0
        let expected = Slate.isUnlucky(last + 1) ? last + 2 : last + 1
        if line.number != expected { note("\(line.name) came after number \(last)") }
        columns[line.column] = line.number
        lines += 1
        guard let job = line.job else {
            // Two turns of one group.
            balance += 1
            return .then(.balanced)
        }
        // A doomed job is never heard of again.
        if job != .doomed { open.insert(line.name) }
        let retry = Retry.backoff(first: .milliseconds(50), attempts: job == .flaky ? 4 : 2)
        return .run(.run(job: line.name, kind: job), retry: retry)
    }

    mutating func close(_ job: String) {
        if open.remove(job) == nil { note("\(job) was answered and is not open") }
    }

    mutating func note(_ fault: String) {
        if faults.count < 8 { faults.append(fault) }
    }

    mutating func combine(_ turn: Turn) {
        var random = turn.random("digest")
        combine(UInt64(truncatingIfNeeded: turn.number))
        combine(UInt64(bitPattern: turn.now.microseconds))
        combine(random.next())
    }

    mutating func combine(_ text: String) {
        for byte in text.utf8 { digest = (digest ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    }

    mutating func combine(_ word: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { digest = (digest ^ (word >> UInt64(shift) & 0xff)) &* 0x0000_0100_0000_01b3 }
    }
}
