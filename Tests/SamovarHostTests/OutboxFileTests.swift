import Foundation
import ProcessSupport
import SamovarPeers
import SamovarWire
import Testing

@testable import SamovarHost

/// Where the file of a durable client is.
@Suite struct OutboxFileTests {
    private func inputs(of path: String) throws -> [[UInt8]] { try OutboxFile(path).outbox.inputs.map(\.input) }

    @Test(arguments: [true, false])
    func `Behind symbolic links it is the file to which they lead, with one lock, whether that is there or not`(
        isThere: Bool
    ) throws {
        let scratch = try Scratch()
        for folder in ["disk", "links"] {
            try FileManager.default.createDirectory(atPath: scratch.folder(folder), withIntermediateDirectories: false)
        }
        let file = scratch.folder("disk/orders")
        let links = [
            ("links/orders", "../disk/orders"), ("links/again", scratch.folder("links/orders")), ("folder", scratch.folder("disk")),
        ]
        for (link, target) in links {
            try FileManager.default.createSymbolicLink(atPath: scratch.folder(link), withDestinationPath: target)
        }
        if isThere { try OutboxFile(file).add([.input(Submission(sequence: 1, input: [1]))]) }
        let names = ["links/again", "links/orders", "folder/orders"].map(scratch.folder)
        for (number, name) in names.enumerated() {
            let outbox = try OutboxFile(name)
            for other in names + [file] { #expect(throws: OutboxError.self) { try OutboxFile(other) } }
            let sequence = number + (isThere ? 2 : 1)
            try outbox.add([.input(Submission(sequence: sequence, input: [UInt8(sequence)]))])
        }
        let last: UInt8 = isThere ? 4 : 3
        #expect(try inputs(of: file) == (1...last).map { [$0] })
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("links")).sorted() == ["again", "orders"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("disk")).sorted() == ["orders", "orders.lock"])
        for (link, target) in links {
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: scratch.folder(link)) == target)
        }
    }

    @Test func `A file that cannot be written anew goes on as it is, and is written anew later`() throws {
        let scratch = try Scratch()
        let file = scratch.folder("orders")
        let outbox = try OutboxFile(file)
        func add(_ sequences: ClosedRange<Int>) throws -> Int {
            for sequence in sequences {
                let input = OutboxEntry.input(Submission(sequence: sequence, input: [UInt8](repeating: 7, count: 1 << 20)))
                try outbox.add([input, .seen(sequence: sequence)])
            }
            return try #require(FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
        }
        // In the place of the draft, as there is no space for it on a full disk.
        try FileManager.default.createDirectory(atPath: file + ".new", withIntermediateDirectories: false)
        #expect(try add(1...5) > 5 << 20)
        try FileManager.default.removeItem(atPath: file + ".new")
        #expect(try add(6...10) < 5 << 20)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["orders", "orders.lock"])
    }

    @Test func `A file that can never be written anew is an error long before it cannot be read`() throws {
        let scratch = try Scratch()
        let file = scratch.folder("orders")
        let outbox = try OutboxFile(file)
        try FileManager.default.createDirectory(atPath: file + ".new", withIntermediateDirectories: false)
        let error = #expect(throws: OutboxError.self) {
            for sequence in 1...200 {
                let input = OutboxEntry.input(Submission(sequence: sequence, input: [UInt8](repeating: 7, count: 1 << 20)))
                try outbox.add([input, .seen(sequence: sequence)])
            }
        }
        #expect(error?.description.contains("\(file) cannot be written") == true, "\(error?.description ?? "")")
        let size = try #require(FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
        #expect(size > 128 << 20 && size < 140 << 20)
    }

    @Test func `Inputs that were seen leave the file, though an older one has no outcome yet`() throws {
        let scratch = try Scratch()
        let file = scratch.folder("orders")
        do {
            let outbox = try OutboxFile(file)
            try outbox.add([.input(Submission(sequence: 1, input: [1]))])
            for sequence in 2...20 {
                let input = OutboxEntry.input(Submission(sequence: sequence, input: [UInt8](repeating: 7, count: 1 << 20)))
                try outbox.add([input, .seen(sequence: sequence)])
            }
            let size = try #require(FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
            #expect(size < 6 << 20)
        }
        #expect(try inputs(of: file) == [[1]])
    }

    @Test func `What is no file is an error, and stays as it is`() throws {
        let scratch = try Scratch()
        let (pipe, folder) = (scratch.folder("pipe"), scratch.folder("folder"))
        try #require(mkfifo(pipe, 0o600) == 0)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        for path in [pipe, folder] {
            let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            let error = #expect(throws: OutboxError.self) { try OutboxFile(path) }
            #expect(error?.description == "the outbox \(path) is no file")
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == type)
        }
    }

    @Test func `Links that lead nowhere, or around, are an error that names the path as it was given`() throws {
        let scratch = try Scratch()
        for (link, target) in [("nowhere", "no/such/folder"), ("around", "again"), ("again", "around")] {
            try FileManager.default.createSymbolicLink(atPath: scratch.folder(link), withDestinationPath: target)
        }
        for link in ["nowhere", "around"] {
            let error = #expect(throws: OutboxError.self) { try OutboxFile(scratch.folder(link)) }
            #expect(error?.description.hasPrefix("the outbox \(scratch.folder(link)) cannot be opened: ") == true)
        }
    }
}
