import SamovarText

/// What the written program shall have, as the flags of `new` say it. Any of them goes with any other.
struct ScaffoldChoices: Equatable, Hashable, Sendable {
    var split = false
    var distributed = false
    var inputEvents = false
    var outputEvents = false
    var panel = false
}

/// Where the written package gets Samovar from.
enum SamovarSource: Equatable, Sendable {
    /// A copy inside the package of the sources in a checkout: builds wherever the package is.
    case copy(of: String)
    case path(String)
    case repository(ScaffoldRepository)

    /// Where in the package a copy is.
    static let folder = "Vendor/samovar"
    /// What a copy is made of.
    static let parts = ["Package.swift", "LICENSE", "Sources"]
}

/// A repository of Samovar, and the least version of it.
struct ScaffoldRepository: Equatable, Sendable {
    let url: String
    let version: String

    /// What SwiftPM calls a package: the end of its address, without `.git`.
    var package: String {
        let end = url.split(separator: "/").last.map(String.init) ?? ""
        return (end.hasSuffix(".git") ? String(end.dropLast(4)) : end).lowercased()
    }

    /// - Throws: for what the manifest of a package would not take.
    init(url: String, from version: String) throws(CommandFailure) {
        (self.url, self.version) = (url, version)
        guard !package.isEmpty else {
            throw CommandFailure(.usage, "--url \"\(shortened(url, to: 80))\" is no address of a repository")
        }
        let numbers = version.prefix { !"-+".contains($0) }.split(separator: ".", omittingEmptySubsequences: false)
        let isNumber = { (text: Substring) in
            !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard numbers.count == 3, numbers.allSatisfy(isNumber) else {
            throw CommandFailure(.usage, "--from \"\(shortened(version, to: 80))\" is no version: three numbers are, as in 1.2.0")
        }
    }
}

/// A file that is to be written, by its path inside the package.
struct ScaffoldFile: Equatable, Sendable {
    let path: String
    let text: String
    var isExecutable = false
}

extension ScaffoldChoices {
    /// The lines of a template that go with what was chosen. Four columns before a line say with what it goes: the first letter of a
    /// choice, or its capital letter for what was not chosen. All of them must fit.
    func lines(of template: String) -> String {
        let choices = [("s", split), ("d", distributed), ("i", inputEvents), ("o", outputEvents), ("p", panel)]
        let marks = Set(choices.map { letter, isChosen in Character(isChosen ? letter : letter.uppercased()) } + [" "])
        let lines = template.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.filter { $0.prefix(4).allSatisfy(marks.contains) }.map { $0.dropFirst(4) }.joined(separator: "\n")
    }
}
