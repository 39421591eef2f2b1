/// What the written program shall have. Any of them goes with any other.
struct ScaffoldChoices: Equatable, Hashable, Sendable {
    /// What outsiders send is another type than what changes the state, and may be refused; the view is another type than the state.
    var split = false
    /// An effect, and a worker that executes it.
    var distributed = false
    /// Events from outside that the state subscribes to.
    var inputEvents = false
    /// Events for other programs.
    var outputEvents = false
    /// The view is a panel, a user interface as data.
    var panel = false
}

/// Where the written package gets Samovar from.
enum SamovarSource: Equatable, Sendable {
    /// A checkout on this machine.
    case path(String)
    case repository(url: String, from: String)
}

/// A file that is to be written, by its path inside the package.
struct ScaffoldFile: Equatable, Sendable {
    let path: String
    let text: String
}

/// Lines of code, some of which are there only if something was chosen.
func code(_ parts: String?...) -> String {
    parts.compactMap { $0 }.joined(separator: "\n")
}

extension Bool {
    /// The text, or nothing at all.
    func then(_ text: String) -> String? { self ? text : nil }
}
