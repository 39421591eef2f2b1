import Journal
import JournalChain

/// Why a store did not start or had to end, in one sentence for a person.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// What kind of trouble it is, from which commands take their exit code.
    public enum Code: Sendable {
        /// A setting or a seed that does not fit.
        case configuration
        /// Another store has the data folder, or another process the address.
        case busy
        /// The journal is damaged, or tells another story than the program.
        case damaged
        /// The system does not let this user have the data folder.
        case forbidden
        /// The disk or the sockets failed.
        case inputOutput
        /// The program does not survive its own journal, or the journal lost its tail. Another start cannot help.
        case program
        /// The next start can go on: a group of turns broke a limit, and that item is taken alone or not at all; or another store has the
        /// journal, and is followed.
        case again
    }

    /// What kind of trouble it is, for code.
    public let code: Code
    /// What is wrong and what to do, for a person.
    public let description: String
    /// What was ordered and what is ordered now, if a replay found that these are not the same and nobody has accepted it.
    public let divergence: DivergenceReport?
    /// Whether the same may be tried again: what keeps the journal is not reached, or another store has trimmed what was to be read.
    let isTransient: Bool

    /// An error of this kind.
    public init(_ code: Code, _ description: String) {
        self.init(code, description, divergence: nil)
    }

    init(_ code: Code, _ description: String, divergence: DivergenceReport?, isTransient: Bool = false) {
        self.code = code
        self.description = description
        self.divergence = divergence
        self.isTransient = isTransient
    }
}

extension StoreError {
    /// Runs `body`, whose errors become those of a store.
    static func replacing<Result>(_ body: () throws(JournalError) -> Result) throws(StoreError) -> Result {
        do {
            return try body()
        } catch {
            throw StoreError(error)
        }
    }

    /// - Throws: ``JournalError/Code/damaged`` for a journal that has lost its end since this machine has had it.
    static func requireEnd(of journal: any StoredJournal, in name: String, _ page: TrapPage) throws(JournalError) {
        guard case .end(journal.identity, let turn) = page.markedEnd, turn > journal.last else { return }
        throw JournalError(
            .damaged,
            """
            the journal in \(name) has lost its end: it ends at turn \(journal.last), and had turn \(turn) when this machine last \
            served it. Bring back the server that has it; or give the turns up, with `journal salvage --upto \(journal.last)`
            """)
    }

    init(_ error: JournalError) {
        let code: Code =
            switch error.code {
            case .busy: .busy
            case .forbidden: .forbidden
            case .fenced: .again
            case .damaged, .lost: .damaged
            case .format, .missing, .denied: .configuration
            default: .inputOutput
            }
        // What a salvage can do is said where it is needed.
        let hint = error.code == .damaged ? " `journal verify` tells what is left, `journal salvage` goes on with that." : ""
        self.init(code, "\(error)\(hint)", divergence: nil, isTransient: error.code == .unavailable)
    }
}
