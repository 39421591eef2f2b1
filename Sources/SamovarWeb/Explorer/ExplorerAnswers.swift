import MessagePack
import SamovarText

/// Bounds of what leaves the explorer.
enum ExplorerAnswers {
    /// Of one line.
    static let maximumBytes = 4 << 20
    /// Of the values of a diff together, as JSON.
    static let diffBytes = 512 << 10

    /// The parts of a diff that are shown, and whether there are others.
    static func parts(of changes: ValueChanges) -> (parts: [MessagePackValue], isCut: Bool) {
        var (shown, bytes) = ([MessagePackValue](), 0)
        for change in changes.changes {
            // What is cut says already how long it was.
            let part = PageValues.bounded(change.value, text: .max)
            bytes += JSONTranscoder.text(of: part).utf8.count
            // One is shown, however large it is.
            guard bytes <= diffBytes || shown.isEmpty else { return (shown, true) }
            shown.append(part)
        }
        return (shown, changes.isCut)
    }

    /// A line that is too long says so.
    static func line(_ value: MessagePackValue) -> String {
        let text = JSONTranscoder.text(of: value)
        guard text.utf8.count > maximumBytes else { return text }
        return JSONTranscoder.text(of: ["problem": .string("the answer has \(text.utf8.count) bytes, more than can be shown")])
    }
}
