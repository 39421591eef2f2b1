import Foundation

/// Why a file or folder of keys is not used, in one sentence for a person. It never repeats what a file says, which may be a secret.
public struct KeyFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong with which file, and on which line of it.
    public let description: String
    package let kind: Kind

    package enum Kind: Sendable {
        /// A person has to change a file, a folder or a setting.
        case configuration
        /// What was asked for makes no sense for the keys that there are.
        case request
        /// Another program is at it.
        case busy
        /// The system does not let this user have the file or the folder.
        case forbidden
        /// The system has failed to read or write.
        case inputOutput
    }

    init(_ description: String, _ kind: Kind = .configuration) {
        self.description = description
        self.kind = kind
    }

    /// With the system's reason.
    static func system(_ path: String, _ what: String, number: Int32 = errno) -> KeyFileError {
        let kind: Kind =
            switch number {
            case ENOENT: .configuration
            case EACCES, EPERM, EROFS: .forbidden
            default: .inputOutput
            }
        return KeyFileError("\(path) \(what): \(String(cString: strerror(number)))", kind)
    }
}
