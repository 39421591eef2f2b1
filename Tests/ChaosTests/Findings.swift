import Foundation
import ProcessSupport

/// What a search for duplicates found.
struct Findings: Equatable {
    struct Group: Equatable, Hashable {
        let sha256: String
        let size: Int
        let paths: [Data]
    }

    var groups: Set<Group> = []
    var counts: [String: Int] = [:]
    var problems = 0
    var isDone = true
}

extension Findings {
    struct Unreadable: Error {
        let what: String
    }

    /// What the program's state says, in the JSON of `replay --state`.
    init(state text: String) throws {
        guard let state = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
            let groups = state["groups"] as? [[String: Any]], let counts = state["counts"] as? [String: Int],
            let problems = state["problems"] as? [Any]
        else { throw Unreadable(what: text) }
        self.groups = Set(try groups.map(Self.group))
        guard self.groups.count == groups.count else { throw Unreadable(what: "a group is there twice") }
        self.counts = counts
        self.problems = problems.count
        isDone = state["phase"] as? String == "done"
    }

    private static func group(_ json: [String: Any]) throws -> Group {
        guard let sha256 = json["sha256"] as? String, let size = json["size"] as? Int, let paths = json["paths"] as? [Any] else {
            throw Unreadable(what: "\(json)")
        }
        return Group(sha256: sha256, size: size, paths: try paths.map(path))
    }

    /// Text, or the bytes of what is no text.
    private static func path(_ json: Any) throws -> Data {
        if let text = json as? String { return Data(text.utf8) }
        let bytes = (json as? [String: Any])?["bytes"]
        if let numbers = bytes as? [UInt8] { return Data(numbers) }
        guard let text = bytes as? String, let data = Data(base64Encoded: text) else { throw Unreadable(what: "\(json)") }
        return data
    }
}

extension Findings {
    /// What `find` and `sha256sum` say of the same folder.
    static func oracle(_ root: String, in scratch: Scratch) async throws -> Findings {
        let listing = try await records(
            "find", [root, "-type", "d", "-printf", "d\\0", "-o", "-type", "f", "-printf", "%D:%i %s %p\\0"], scratch)
        let sums = try await records(
            "sh", ["-c", "find \"$1\" -type f -size +0 -print0 | xargs -0 sha256sum --zero", "sh", root], scratch)
        // Each record is the digest, two spaces, and the path.
        let digests = Dictionary(
            uniqueKeysWithValues: sums.map { (Data($0.dropFirst(66)), String(decoding: $0.prefix(64), as: UTF8.self)) })

        var counts = ["directories": 0, "files": 0, "smallFiles": 0, "hardLinks": 0]
        var files: [String: (size: Int, path: Data)] = [:]
        for record in listing {
            let parts = record.split(separator: UInt8(ascii: " "), maxSplits: 2)
            guard parts.count == 3, let size = Int(String(decoding: parts[1], as: UTF8.self)) else {
                counts["directories", default: 0] += 1
                continue
            }
            guard size > 0 else {
                counts["smallFiles", default: 0] += 1
                continue
            }
            let identity = String(decoding: parts[0], as: UTF8.self)
            let path = Data(parts[2])
            guard let known = files[identity] else {
                files[identity] = (size, path)
                continue
            }
            counts["hardLinks", default: 0] += 1
            if path.lexicographicallyPrecedes(known.path) { files[identity] = (size, path) }
        }
        counts["files"] = files.count
        let sizes = Dictionary(grouping: files.values, by: \.size).filter { $0.value.count > 1 }
        counts["hashedFiles"] = sizes.values.map(\.count).reduce(0, +)
        counts["hashedBytes"] = sizes.map { $0.key * $0.value.count }.reduce(0, +)
        let groups = Dictionary(grouping: files.values) { digests[$0.path] ?? "" }.filter { $0.value.count > 1 }
            .map { digest, files in
                Group(sha256: digest, size: files[0].size, paths: files.map(\.path).sorted { $0.lexicographicallyPrecedes($1) })
            }
        counts["groups"] = groups.count
        counts["reclaimableBytes"] = groups.map { $0.size * ($0.paths.count - 1) }.reduce(0, +)
        return Findings(groups: Set(groups), counts: counts)
    }

    private static func records(_ executable: String, _ arguments: [String], _ scratch: Scratch) async throws -> [Data] {
        let child = try Child(executable, arguments, in: scratch)
        guard try await child.wait() == .exited(0) else { throw Unreadable(what: child.errors) }
        return child.outputBytes.split(separator: 0).map { Data($0) }
    }
}
