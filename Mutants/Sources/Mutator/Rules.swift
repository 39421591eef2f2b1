import SwiftSyntax

/// What is not changed: docs/mutants.md gives the reasons.
public enum Rules {
    /// The machines.
    public static let folders: Set<String> = [
        "SamovarPeers/Client", "SamovarPeers/Connection", "SamovarPeers/Worker", "SamovarWire/Records", "SamovarStore/Dispatch",
        "SamovarStore/Effects", "SamovarStore/Engine", "SamovarStore/Machine", "SamovarStore/Operators", "SamovarStore/Readers",
        "SamovarStore/Recovery", "SamovarStore/Sessions", "SamovarStore/Trap", "SamovarStore/Turns", "SamovarStore/Workers",
    ]

    /// Texts, figures and the arithmetic of hashes, which other tests hold byte by byte.
    static let files: Set<String> = [
        "SamovarStore/Machine/StoreMachine+Status.swift", "SamovarStore/Machine/StoreMachine+Metrics.swift",
        "SamovarStore/Machine/StoreMachine+Recent.swift", "SamovarWire/Records/Record+Description.swift",
        "SamovarWire/Records/Control+Description.swift", "SamovarStore/Engine/CommandHash.swift",
        "SamovarStore/Engine/FormerCommandHash.swift", "SamovarStore/Engine/WyHash.swift",
    ]

    public static func isChanged(_ file: String) -> Bool {
        guard let end = file.lastIndex(of: "/"), folders.contains(String(file[..<end])) else { return false }
        return !files.contains(file) && !file.hasSuffix("\(settings).swift")
    }

    /// The types, and the ends of the names of files, that hold sizes and times with their defaults.
    static let settings = "Settings"

    /// Calls that are left alone, with everything in their arguments.
    static let calls: Set<String> = [
        "note", "precondition", "preconditionFailure", "assert", "assertionFailure", "reserveCapacity",
    ]

    static let properties: Set<String> = ["description", "debugDescription", "hashValue"]

    /// Larger numbers are sizes and times, of which nobody is promised that they are not one more.
    static let largestLiteral = 9

    static func isLeftAlone(_ call: FunctionCallExprSyntax) -> Bool {
        if call.arguments.first?.label?.text == "reserving" { return true }
        if let name = call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text { return calls.contains(name) }
        return call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "reserveCapacity"
            || isNote(call) || call.arguments.contains { isNote($0.expression) }
    }

    /// An action that writes to the log.
    private static func isNote(_ expression: some ExprSyntaxProtocol) -> Bool {
        let action = expression.as(FunctionCallExprSyntax.self)?.calledExpression.as(MemberAccessExprSyntax.self)
        return action?.base == nil && action?.declName.baseName.text == "note"
    }

    /// What `status` counts.
    static func isCounter(_ expression: ExprSyntax) -> Bool {
        expression.as(MemberAccessExprSyntax.self)?.base?.as(DeclReferenceExprSyntax.self)?.baseName.text == "counters"
    }
}
