/// What an appended batch outlives: the worth of a journal's word, which `status` shows.
public enum Durability: Equatable, Sendable, CustomStringConvertible {
    /// The death of the machine, as far as the disk keeps what it has confirmed; `how` names the confirmation.
    case disk(how: String)
    /// The death of the machine that has the journal, since others have it, too; `how` names what they confirm.
    case replicated(how: String)
    /// The death of the process at any instant, but not that of the machine.
    case process(why: String)
    /// Nothing: the journal is gone with its process.
    case none
    /// The journal does not say.
    case unknown

    /// The class in one word, then a sentence for people.
    public var description: String {
        switch self {
        case .disk(let how): "disk: \(how) before anything is visible"
        case .replicated(let how): "replicated: \(how) before anything is visible"
        case .process(let why): "process: \(why), so nothing outlives the machine"
        case .none: "none: the journal is in the memory of its process"
        case .unknown: "unknown: the journal does not say"
        }
    }
}
