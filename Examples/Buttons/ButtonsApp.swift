import Foundation
import Samovar

/// `buttons up` in one terminal, `buttons monitor` in another: press the buttons there.
@main
struct ButtonsApp: SamovarApp {
    static var worker: Worker<Buttons> {
        Worker(environment: { ProcessInfo.processInfo.environment["BUTTONS_FILE"] ?? "count.txt" }) { effect, path, job in
            let file = URL(filePath: path)
            switch effect {
            case .save(let count):
                // Whole or not at all. To do it twice, after a crash, changes nothing.
                try Data("\(count)\n".utf8).write(to: file, options: .atomic)
                return .saved(count)
            case .load:
                guard let bytes = FileManager.default.contents(atPath: path) else { throw Permanent("there is no \(path)") }
                let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
                guard let count = Int(text) else { throw Permanent("\(path) holds no number") }
                return .loaded(count)
            }
        }
    }
}
