import SamovarText

/// The name of a package that is to be written, and the names that follow from it.
struct ScaffoldName: Equatable, Sendable {
    /// Of the package, its folder and its executable: `tea-timer`.
    let package: String
    /// Of the program: `TeaTimer`.
    let type: String

    /// Not the program's own name: inside a module, a type of the same name hides it.
    var module: String { type + "Program" }
    var app: String { type + "App" }

    /// That of a user, whose name it is on a machine where the program is a service: systemd takes no longer one.
    static let maximumLength = 31

    /// - Throws: for a name that cannot be one of a folder, an executable and a Swift type at once.
    init(_ name: String) throws(CommandFailure) {
        let shown = "\"\(shortened(name, to: 80))\""
        let words = name.split(separator: "-", omittingEmptySubsequences: false)
        let isWord = { (word: Substring) in !word.isEmpty && word.utf8.allSatisfy { $0.isWordPart && $0 != UInt8(ascii: "_") } }
        guard let first = name.utf8.first, first.isWordStart, first != UInt8(ascii: "_"), words.allSatisfy(isWord) else {
            throw CommandFailure(
                .usage,
                "\(shown) is no name for a program: use letters A to Z, digits and single hyphens, a letter first, as in tea-timer")
        }
        guard name.utf8.count <= Self.maximumLength else {
            throw CommandFailure(.usage, "\(shown) is too long for a name: it may have \(Self.maximumLength) letters")
        }
        let type = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        guard !Self.taken.contains(type) else {
            throw CommandFailure(
                .usage, "\(shown) would make the type \(type), which means something else already: take another name")
        }
        guard !Self.programs.contains(type) else {
            throw CommandFailure(
                .usage, "\(shown) would make the module \(type)Program, and Samovar has one of that name: take another name")
        }
        // SwiftPM takes both for one package.
        guard name.lowercased() != "samovar" else {
            throw CommandFailure(.usage, "\(shown) is the package that every program depends on: take another name")
        }
        package = name
        self.type = type
    }

    /// Samovar's own modules whose names end in `Program`, without that: SwiftPM refuses two modules of one name, unused ones included.
    static let programs: Set<String> = ["Chaos", "Contract", "Fickle", "Readme", "Trap", "Turnstile", "Versioned"]

    /// Types that the written code uses, of Samovar, Swift and the program itself; and one whose module `OpenProgram` a type of that name would hide.
    private static let taken: Set<String> = [
        "Any", "Bool", "Command", "Connector", "Duration", "Effect", "Error", "Failure", "Input", "Instance", "Int", "Job", "Label",
        "Message", "Never", "Next", "NoSeed", "Open", "OpenProgram", "Output", "Panel", "PanelNode", "Permanent", "Portable",
        "Program",
        "Protocol", "Receipt", "Refusal", "Retry", "Samovar", "SamovarApp", "SamovarCommands", "SamovarCore", "SamovarHost",
        "SamovarText", "SamovarWorker", "Schema", "Secret", "Self", "State", "String", "Subscription", "Swift", "Task", "TestStore",
        "Testing",
        "Timestamp", "Turn", "Type", "ViewState", "Views", "Void", "Worker",
    ]
}
