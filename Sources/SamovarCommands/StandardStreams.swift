import Foundation

/// Standard output is for data, standard error for everything else. Both are written at once, so that a pipe sees each line.
enum StandardStream {
    case output, error

    func write(_ text: String) {
        let handle = self == .output ? FileHandle.standardOutput : FileHandle.standardError
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            // Nobody reads any more, and there is nowhere left to say it.
            if self == .output { exit(74) }
        }
    }
}

/// One line of data.
func printData(_ text: String) {
    StandardStream.output.write(text + "\n")
}

/// One line for a person.
func printError(_ text: String) {
    StandardStream.error.write(text + "\n")
}
