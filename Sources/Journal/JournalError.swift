/// Why a journal could not do what it was asked for, in one sentence for a person.
public struct JournalError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of an error; more kinds may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case full, unavailable, denied, forbidden, fenced, inputOutput, busy, damaged, lost, missing, format, misuse
        }
        private let kind: Kind

        /// No space is left. Nothing has changed, and the same call may be tried again when there is space.
        public static let full = Code(kind: .full)
        /// What keeps the journal is not reached, or does not confirm. Whether the call has happened may be unknown: the same call, and no
        /// other, may be tried again, and finds out.
        public static let unavailable = Code(kind: .unavailable)
        /// What keeps the journal is reached, and does not let this process in, or do this. Nothing has happened, and a person
        /// has to act: a process that starts ends, one that has begun tries the same call again.
        public static let denied = Code(kind: .denied)
        /// The system does not let this user have the place of the journal. Nothing has happened, and a person has to act.
        public static let forbidden = Code(kind: .forbidden)
        /// Another process has taken the journal over: this one writes nothing any more, and must end.
        public static let fenced = Code(kind: .fenced)
        /// The disk or the operating system failed: what is durable is unknown until a new process has read it. The
        /// process must end, for an `fsync` that failed once may later claim success.
        public static let inputOutput = Code(kind: .inputOutput)
        /// Another process uses the journal.
        public static let busy = Code(kind: .busy)
        /// What was read is not what was written. The message names the batch or the snapshot.
        public static let damaged = Code(kind: .damaged)
        /// There was a journal, and nothing of it can be read: it is gone, empty, or no database. The message says what to do.
        public static let lost = Code(kind: .lost)
        /// What was asked for is not there and need not be.
        public static let missing = Code(kind: .missing)
        /// The journal was written in a format that this build does not know.
        public static let format = Code(kind: .format)
        /// The call was wrong: a batch out of order, or a journal that is closed or was opened for reading.
        public static let misuse = Code(kind: .misuse)

        public var description: String { kind.rawValue }
    }

    public let code: Code
    /// One sentence, naming the file and the batch.
    public let message: String
    /// What the library or the system below said, if it said anything.
    public let underlying: String?

    public init(_ code: Code, _ message: String, underlying: String? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    public var description: String {
        guard let underlying else { return message }
        return "\(message) (\(underlying))"
    }

    /// Whether what keeps the journal cannot be asked, so that the same call may be tried again.
    package var isAway: Bool { code == .unavailable || code == .denied }

    /// Whether no later write may be tried: a second attempt could succeed on top of a loss.
    package var forbidsWriting: Bool {
        code == .inputOutput || code == .forbidden || code == .damaged || code == .lost || code == .fenced
    }
}
