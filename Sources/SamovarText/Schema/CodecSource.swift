import MessagePack
package import SamovarCore

/// The source of generated code: conformances to `GeneratedCodable` for those types of a program that can have one.
///
/// It is written by what can be seen of the types when the program runs. Code is written for a type only if its stored properties or
/// cases are what it encodes, under their own names, and if it takes samples of them as they are: another coding than the compiler's
/// would show in one of these. What such a coding does for other values cannot be seen, so a type can be left out by name.
package struct CodecSource {
    package let text: String
    /// The types that it is for.
    package let types: [String]
    /// The types that stay with `Codable`, and why, in sentences.
    package let left: [String]
    /// Names of types to leave out that no type has.
    package let unknown: [String]

    /// - Parameters:
    ///   - program: code is written for what a codec is asked for, and what is inside that, as far as it is of the program's module.
    ///   - leaving: the names of types that shall stay with `Codable`, as they stand in source.
    package init<P: Program>(of program: P.Type, leaving: [String]) {
        let session = ShapeSession(qualified: true)
        let places = [
            session.place(of: P.Message.self), session.place(of: P.Effect.self), session.place(of: P.Input.self),
            session.place(of: P.Output.self), session.place(of: P.ViewState.self), session.place(of: P.State.self),
        ]
        var choice = CodecChoice(session, module: String(String(reflecting: program).prefix { $0 != "." }), leaving: Set(leaving))
        let written = places.reduce(into: Set<String>()) { $0.formUnion(choice.types(in: $1)) }.sorted()
        left = session.types.keys.sorted().filter(choice.isOwn).compactMap { name in
            choice.objection(to: name).map { "\(choice.short(name)): \($0)" }
        }
        let known = Set(session.types.keys.map { choice.short($0) })
        unknown = leaving.filter { !known.contains($0) }
        types = written.map { choice.short($0) }
        let command = ["schema --codec"] + leaving.map { "--leave \($0)" }
        let extensions = written.map { CodecExtension(name: $0, session: session, choice: choice).text }
        text = ([Self.head(command.joined(separator: " "))] + extensions).joined(separator: "\n\n")
    }

    private static func head(_ command: String) -> String {
        """
        // Written by `\(command)`: with it, types encode and decode without the containers of `Codable`, as the same bytes.
        // Write it anew when one of them changes. Until then that type is left to `Codable`, which is slower.
        // A coding by hand that one of them gets later is neither noticed nor used: write this file anew then, or delete it.
        // swift-format-ignore-file

        import Samovar
        """
    }
}
