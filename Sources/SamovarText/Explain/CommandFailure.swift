/// Why a command ends without success: a sentence for a person, and an exit code of sysexits for a script.
package struct CommandFailure: Error, CustomStringConvertible {
    package enum Code: Int32 {
        case usage = 64
        case badData = 65
        case unavailable = 69
        case `internal` = 70
        case inputOutput = 74
        case tryLater = 75
        case noPermission = 77
        case configuration = 78
    }

    package let code: Code
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
