import SamovarCore

/// Turns since the start of this process, by what was taken.
struct TurnKinds {
    private(set) var inputs = 0
    private(set) var answers = 0
    private(set) var failures = 0
    private(set) var firings = 0
    private(set) var operated = 0
    /// All turns of an item after its first.
    private(set) var followUps = 0

    var sum: Int { inputs + answers + failures + firings + operated + followUps }

    /// An item gave so many turns, one at least.
    @inline(__always)
    mutating func count(_ call: ProgramCall, turns: Int) {
        followUps &+= turns &- 1
        switch call {
        case .input: inputs &+= 1
        case .answer: answers &+= 1
        case .failure: failures &+= 1
        case .firing: firings &+= 1
        case .operated: operated &+= 1
        default: followUps &+= 1
        }
    }
}
