import Foundation

/// Puts the files of a package on disk: all of them, or none.
enum ScaffoldWriting {
    /// - Throws: `CommandFailure` if the folder exists, or cannot be written.
    static func write(_ files: [ScaffoldFile], to folder: URL) throws(CommandFailure) {
        let shown = escapeForTerminal(folder.path)
        let manager = FileManager.default
        guard !manager.fileExists(atPath: folder.path) else {
            throw CommandFailure(.inputOutput, "\(shown) exists already; nothing was written. Take another name or move it away")
        }
        // Beside its place, so that it gets there in one step.
        let draft = folder.deletingLastPathComponent().appending(
            path: ".\(folder.lastPathComponent)-\(UInt32.random(in: .min ... .max))")
        do {
            for file in files {
                let place = draft.appending(path: file.path)
                try manager.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: place)
            }
            try manager.moveItem(at: draft, to: folder)
        } catch {
            // What is left of it is of no use, and the first error says more than one about it.
            try? manager.removeItem(at: draft)
            throw CommandFailure(.inputOutput, "cannot write \(shown): \(escapeForTerminal(error.localizedDescription))")
        }
    }

    /// The checkout of Samovar in whose build folder an executable lies; nil if it lies elsewhere.
    static func checkout(of executable: String) -> String? {
        var folder = URL(fileURLWithPath: executable).resolvingSymlinksInPath().deletingLastPathComponent()
        while folder.path != "/" {
            if isCheckout(folder.path) { return folder.path }
            folder.deleteLastPathComponent()
        }
        return nil
    }

    static func isCheckout(_ folder: String) -> Bool {
        // What cannot be read is none.
        let manifest = try? String(contentsOfFile: folder + "/Package.swift", encoding: .utf8)
        return manifest?.contains("name: \"samovar\"") ?? false
    }
}
