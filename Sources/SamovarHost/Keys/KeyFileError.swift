import Foundation

/// Why a file or folder of keys is not used, in one sentence for a person. It never repeats what a file says, which may be a secret.
public struct KeyFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong with which file, and on which line of it.
    public let description: String
    /// Whether the system has failed to read or write, and not a person to configure.
    package let isInputOutput: Bool

    init(_ description: String) {
        self.description = description
        isInputOutput = false
    }

    /// With the system's reason.
    static func system(_ path: String, _ what: String, number: Int32 = errno) -> KeyFileError {
        KeyFileError("\(path) \(what): \(String(cString: strerror(number)))", isInputOutput: number != ENOENT && number != EACCES)
    }

    private init(_ description: String, isInputOutput: Bool) {
        self.description = description
        self.isInputOutput = isInputOutput
    }
}
