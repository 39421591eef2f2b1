import Foundation
import Journal
import Testing

@testable import SQLiteJournal

/// A journal as a kill leaves it, the same folder as it was earlier, and another folder of the same kind.
final class DamageSpecimen {
    let name: String
    let current: Scratch
    let older: Scratch
    let other: Scratch
    /// Those that are kept, in order.
    let batches: [Batch]
    /// Those that were trimmed, too.
    let all: [Batch]
    let snapshots: [Snapshot]

    static let secret: [UInt8] = [1, 2, 3, 4]
    static let witnesses = ["journal.sqlite", "journal.sqlite-wal", "head", "marker", "snapshots"]

    var last: Int { batches[batches.count - 1].last }
    var newestSnapshot: String { "snapshots/\(snapshots[snapshots.count - 1].turn)" }
    var files: [String] {
        ["journal.sqlite", "journal.sqlite-wal", "head", "journal.id", "marker", "lock", newestSnapshot]
    }

    private init(
        _ name: String, _ all: [Batch], trimmed: Int, _ snapshots: [Snapshot],
        _ make: () throws -> (current: Scratch, older: Scratch)
    ) throws {
        self.name = name
        self.all = all
        batches = Array(all.dropFirst(trimmed))
        self.snapshots = snapshots
        (current, older) = try make()
        other = try make().current
    }

    private static func batches(_ count: Int, size: Int) -> [Batch] {
        (1...count).map { turn in
            Batch(first: turn, last: turn, bytes: (0..<(turn * 37 % size)).map { UInt8(truncatingIfNeeded: ($0 &+ turn) &* 31) })
        }
    }

    private static func snapshot(_ turn: Int) -> Snapshot {
        Snapshot(turn: turn, bytes: Array(repeating: UInt8(truncatingIfNeeded: turn), count: 500))
    }

    /// Half of it is in the log; earlier it was stopped in order.
    static func small() throws -> DamageSpecimen {
        let batches = batches(40, size: 900)
        let snapshots = [snapshot(10), snapshot(30)]
        return try DamageSpecimen("small", batches, trimmed: 0, snapshots) {
            let source = try Scratch()
            let first = try source.journal()
            let older = try source.killed(first) {
                try first.record(secret, as: "secret")
                for batch in batches.prefix(20) { try first.append(batch) }
                try first.save(snapshots[0])
                try first.close()
            }
            let second = try source.journal()
            let current = try source.killed(second) {
                for batch in batches.dropFirst(20) { try second.append(batch) }
                try second.save(snapshots[1])
            }
            return (current, older)
        }
    }

    /// Most of it is in the database, and its beginning was trimmed; earlier there were turns in the log.
    static func large() throws -> DamageSpecimen {
        let all = batches(240, size: 9_000)
        let snapshots = [snapshot(80), snapshot(120), snapshot(200)]
        return try DamageSpecimen("large", all, trimmed: 80, snapshots) {
            let source = try Scratch()
            let journal = try source.journal()
            let older = try source.killed(journal) {
                try journal.record(secret, as: "secret")
                for batch in all.prefix(100) { try journal.append(batch) }
                try journal.save(snapshots[0])
                try journal.checkpoint()
                for batch in all[100..<140] { try journal.append(batch) }
                try journal.save(snapshots[1])
            }
            let current = try source.killed(journal) {
                for batch in all[140..<220] { try journal.append(batch) }
                try journal.save(snapshots[2])
                while try journal.trim(through: 80) {}
                try journal.checkpoint()
                for batch in all[220...] { try journal.append(batch) }
            }
            return (current, older)
        }
    }
}

/// Something that is done to a folder.
struct DamageVariant {
    let name: String
    /// What is in the folder is sound, and only something else is in the place of a file.
    var isReplacement = false
    let apply: (Scratch) throws -> Void
}

extension DamageSpecimen {
    var variants: [DamageVariant] {
        flips + truncations + removals + olderCopies + swaps + overwrites + replacements
    }

    private func size(of file: String) -> Int { FileSystem.size(of: current.data + "/" + file) ?? 0 }

    private var flips: [DamageVariant] {
        let frame = WriteAheadLog.frameHeaderSize + SQLiteConnection.pageSize
        let frames = (size(of: "journal.sqlite-wal") - WriteAheadLog.headerSize) / frame
        var places: [(String, [Int])] = [
            ("journal.sqlite", [0, 17, 18, 30, 57, 63, 71, 100, 105]),
            ("journal.sqlite-wal", [1, 10, 13, 17, 21, 25, 30]),
            ("head", [1, 20, 30, 50, 90, 513, 530, 540, 570, 600]), ("journal.id", [3]),
            ("marker", [1, 10, 4_049, 4_057, 4_064, 4_066, 4_070]), ("lock", [0]),
            (newestSnapshot, [0, 10, 30, 40, 200]), ("snapshots/\(snapshots[0].turn)", [200]),
        ]
        let pages = size(of: "journal.sqlite") / SQLiteConnection.pageSize
        for page in Set([0, 1, 2, pages / 2, pages - 1]).filter({ $0 < pages && $0 >= 0 }).sorted() {
            places.append(("journal.sqlite", [page * SQLiteConnection.pageSize + 7_000, page * SQLiteConnection.pageSize + 3]))
        }
        for index in Set([0, 1, frames / 3, frames / 2, frames - 2, frames - 1]).sorted() {
            let begin = WriteAheadLog.headerSize + index * frame
            places.append(("journal.sqlite-wal", [3, 7, 9, 13, 17, 21, 24, 30, 4_000, 8_200].map { begin + $0 }))
        }
        return places.flatMap { file, bytes in
            bytes.filter { $0 < size(of: file) }.map { byte in
                DamageVariant(name: "a bit of byte \(byte) of \(file)") { try $0.flip(byte: byte, of: file, mask: 4) }
            }
        }
    }

    private var truncations: [DamageVariant] {
        files.flatMap { file in
            let size = size(of: file)
            return Set([0, size / 4, size / 2, size - 1]).sorted().map { length in
                DamageVariant(name: "\(file) cut to \(length)") { try $0.truncate(file, to: length) }
            }
        }
    }

    private var removals: [DamageVariant] {
        func removal(_ names: [String]) -> DamageVariant {
            DamageVariant(name: "without \(names.joined(separator: " and "))") { scratch in
                for name in names { try FileManager.default.removeItem(atPath: scratch.data + "/" + name) }
            }
        }
        let names = files.filter { $0 != newestSnapshot } + ["snapshots"]
        var variants = names.map { removal([$0]) } + [removal([newestSnapshot])]
        for (index, first) in names.enumerated() { variants += names.dropFirst(index + 1).map { removal([first, $0]) } }
        for kept in names { variants.append(removal(names.filter { $0 != kept })) }
        return variants + [removal(names.filter { !["marker", "lock"].contains($0) })]
    }

    /// Each combination.
    private var olderCopies: [DamageVariant] {
        (1..<(1 << Self.witnesses.count)).map { bits in
            let names = Self.witnesses.enumerated().filter { bits >> $0.offset & 1 == 1 }.map(\.element)
            return DamageVariant(name: "older \(names.joined(separator: ", "))") { [older] scratch in
                try Self.exchange(names, of: scratch, by: older)
            }
        }
    }

    private var swaps: [DamageVariant] {
        let names = Self.witnesses + ["journal.id"]
        var sets = names.map { [$0] }
        for (index, first) in names.enumerated() { sets += names.dropFirst(index + 1).map { [first, $0] } }
        return sets.map { names in
            DamageVariant(name: "\(names.joined(separator: ", ")) of another folder") { [other] scratch in
                try Self.exchange(names, of: scratch, by: other)
            }
        }
    }

    private static func exchange(_ names: [String], of scratch: Scratch, by source: Scratch) throws {
        let manager = FileManager.default
        for name in names {
            if manager.fileExists(atPath: scratch.data + "/" + name) { try manager.removeItem(atPath: scratch.data + "/" + name) }
            guard manager.fileExists(atPath: source.data + "/" + name) else { continue }
            try manager.copyItem(atPath: source.data + "/" + name, toPath: scratch.data + "/" + name)
        }
    }

    private var overwrites: [DamageVariant] {
        var variants = files.map { file in
            DamageVariant(name: "rubbish behind \(file)") { scratch in
                let url = URL(filePath: scratch.data + "/" + file)
                try (try Data(contentsOf: url) + Data(repeating: 0x5a, count: 9_000)).write(to: url)
            }
        }
        for file in ["journal.sqlite", "journal.sqlite-wal"] {
            let pages = size(of: file) / SQLiteConnection.pageSize
            for page in Set([0, 1, 2, pages / 2, pages - 1]).filter({ $0 >= 0 && $0 < pages }).sorted() {
                variants.append(
                    DamageVariant(name: "page \(page) of \(file) zero") { scratch in
                        let url = URL(filePath: scratch.data + "/" + file)
                        var bytes = try Data(contentsOf: url)
                        let begin = page * SQLiteConnection.pageSize
                        bytes.replaceSubrange(
                            begin..<begin + SQLiteConnection.pageSize, with: Data(count: SQLiteConnection.pageSize))
                        try bytes.write(to: url)
                    })
            }
        }
        return variants
    }

    private var replacements: [DamageVariant] {
        let manager = FileManager.default
        return files.flatMap { file in
            [
                DamageVariant(name: "a folder for \(file)", isReplacement: true) { scratch in
                    try manager.removeItem(atPath: scratch.data + "/" + file)
                    try manager.createDirectory(atPath: scratch.data + "/" + file, withIntermediateDirectories: false)
                },
                DamageVariant(name: "a link for \(file)", isReplacement: true) { scratch in
                    let place = scratch.path + "/elsewhere"
                    try manager.moveItem(atPath: scratch.data + "/" + file, toPath: place)
                    try manager.createSymbolicLink(atPath: scratch.data + "/" + file, withDestinationPath: place)
                },
                DamageVariant(name: "a link to nothing for \(file)", isReplacement: true) { scratch in
                    try manager.removeItem(atPath: scratch.data + "/" + file)
                    try manager.createSymbolicLink(
                        atPath: scratch.data + "/" + file, withDestinationPath: scratch.path + "/nothing")
                },
                DamageVariant(name: "no permissions for \(file)", isReplacement: true) { scratch in
                    try manager.setAttributes([.posixPermissions: 0], ofItemAtPath: scratch.data + "/" + file)
                },
            ]
        }
    }
}
