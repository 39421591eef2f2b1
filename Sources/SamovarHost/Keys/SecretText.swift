/// A secret that was given in place of the name of the file that holds it.
///
/// It is refused before a message repeats it: names of files stand in errors and logs.
enum SecretText {
    private static let z85 = Set("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)
    private static let base64 = Set("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/-_=".utf8)

    /// - Throws: `KeyFileError` if nothing has this name, and it may be a key.
    static func requireName(_ path: String) throws(KeyFileError) {
        guard !PrivateFile.exists(path), mayBeKey(path), !isInFolder(path) else { return }
        throw KeyFileError(
            "the name of a file is wanted here, and what was given may be a key itself, so it is not repeated: there is no file of that "
                + "name. Whoever could see the command knows it: renew that key")
    }

    /// Nobody has a folder that is called as the first half of a secret; the root is none.
    private static func isInFolder(_ path: String) -> Bool {
        guard let end = path.lastIndex(of: "/"), end > path.startIndex else { return false }
        return PrivateFile.exists(String(path[..<end]))
    }

    /// A line of a key file, or 32 bytes in Z85, hexadecimal or base64.
    static func mayBeKey(_ text: String) -> Bool {
        let words = text.split { $0.isWhitespace }
        guard let word = words.last, words.count == 1 || words.first == "secret:" else { return false }
        return switch word.utf8.count {
        case 40: word.utf8.allSatisfy(z85.contains)
        case 64: word.utf8.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
        case 43, 44: word.utf8.allSatisfy(base64.contains)
        default: false
        }
    }
}
