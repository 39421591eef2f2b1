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
    /// The user of the service. Systems have users and groups of their own, as `backup` and `video`, and no capital letters in their names.
    var user: String { Self.userPrefix + package.lowercased() }

    private static let userPrefix = "samovar-"
    /// So that ``user`` is the name of one: systemd takes none that is longer than 31.
    static let maximumLength = 31 - userPrefix.utf8.count

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
        guard !Self.products.contains(name.lowercased()) else {
            throw CommandFailure(
                .usage, "\(shown) is an executable of Samovar, and SwiftPM takes no two of one name: take another name")
        }
        package = name
        self.type = type
    }

    /// Samovar's own executables beside the tool. A checkout has all of them, also for packages that use none.
    static let products: Set<String> = [
        "buttons", "conform", "counter", "dupes", "quotes", "simulator", "stopwatch", "tally", "tickets", "twice", "webhooks",
    ]

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
