import Foundation
import SamovarText

/// Puts the files of a package on disk: all of them, or none.
enum ScaffoldWriting {
    /// - Parameter source: is copied as well, if it is to be a part of the package.
    /// - Throws: `CommandFailure` if the folder exists, lies in what is to be copied, or cannot be written.
    static func write(_ files: [ScaffoldFile], with source: SamovarSource, to folder: URL) throws(CommandFailure) {
        let shown = escapeForTerminal(folder.path)
        let manager = FileManager.default
        guard !manager.fileExists(atPath: folder.path) else {
            throw CommandFailure(.inputOutput, "\(shown) exists already; nothing was written. Take another name or move it away")
        }
        if case .copy(let checkout) = source {
            let sources = URL(fileURLWithPath: checkout).appending(path: "Sources").resolvingSymlinksInPath().path
            let parent = folder.deletingLastPathComponent().resolvingSymlinksInPath().path
            guard !"\(parent)/".hasPrefix("\(sources)/") else {
                throw CommandFailure(.usage, "\(shown) lies in the sources of Samovar, which it would copy: take another folder")
            }
        }
        // Beside its place, so that it gets there in one step.
        let draft = folder.deletingLastPathComponent().appending(
            path: ".\(folder.lastPathComponent)-\(UInt32.random(in: .min ... .max))")
        do {
            for file in files {
                let place = draft.appending(path: file.path)
                try manager.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: place)
                if file.isExecutable { try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: place.path) }
            }
            if case .copy(let checkout) = source {
                let copy = draft.appending(path: SamovarSource.folder)
                try manager.createDirectory(at: copy, withIntermediateDirectories: true)
                for part in SamovarSource.parts {
                    try manager.copyItem(at: URL(fileURLWithPath: checkout).appending(path: part), to: copy.appending(path: part))
                }
            }
            try manager.moveItem(at: draft, to: folder)
        } catch {
            // What is left of it is of no use, and the first error says more than one about it.
            try? manager.removeItem(at: draft)
            throw CommandFailure(.inputOutput, "cannot write \(shown): \(escapeForTerminal(error.localizedDescription))")
        }
    }

    /// The sources of Samovar that belong to an executable: those beside which it was installed, or the checkout in whose build folder it
    /// lies; nil if it lies elsewhere.
    static func checkout(of executable: String) -> String? {
        var folder = URL(fileURLWithPath: executable).resolvingSymlinksInPath().deletingLastPathComponent()
        let installed = folder.deletingLastPathComponent().appending(path: "share/samovar").path
        if isCheckout(installed) { return installed }
        while folder.path != "/" {
            if isCheckout(folder.path) { return folder.path }
            folder.deleteLastPathComponent()
        }
        return nil
    }

    /// The way from a folder to another one.
    static func path(from folder: String, to other: String) -> String {
        let from = URL(fileURLWithPath: folder).resolvingSymlinksInPath().pathComponents
        let to = URL(fileURLWithPath: other).resolvingSymlinksInPath().pathComponents
        let common = zip(from, to).prefix { $0 == $1 }.count
        let steps = Array(repeating: "..", count: from.count - common) + to.dropFirst(common)
        return steps.isEmpty ? "." : steps.joined(separator: "/")
    }

    static func isCheckout(_ folder: String) -> Bool {
        // What cannot be read is none.
        let manifest = try? String(contentsOfFile: folder + "/Package.swift", encoding: .utf8)
        // Of a package itself, and not of one that it needs.
        return manifest?.contains("    name: \"samovar\",\n") ?? false
    }
}
