import MessagePack

struct Small: Codable, Equatable, Sendable {
    var id = 12345
    var name = "hello"
    var count: Int8 = -7
    var ratio = 1.5
    var isOn = true
}

struct Seed: Codable, Equatable, Sendable {
    var root: String
    var minimumSize: Int?
}

enum Input: Codable, Equatable, Sendable {
    case increment, decrement, incrementAsync
}

enum Color: String, Codable, Hashable, Sendable {
    case red, green
}

enum Message: Codable, Hashable, Sendable {
    case tick
    case asked(Int)
    case add(url: String, tags: [String])
    case probed(isUp: Bool, milliseconds: Int?)
    indirect case both(Message, Message)
}

final class Tree: Codable, Equatable {
    let children: [Tree]

    init(_ children: [Tree] = []) { self.children = children }
    static func == (a: Tree, b: Tree) -> Bool { a.children == b.children }

    init(from decoder: any Decoder) throws {
        children = try decoder.singleValueContainer().decode([Tree].self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(children)
    }
}

struct Item: Codable, Equatable, Sendable {
    var name: String
    var color: Color
    var last: Message?
}

struct Box: Codable, Equatable, Sendable {
    var seed: Seed?
    var items: [Item] = []
    var numbers: Set<Int> = []
    var byName: [String: Int] = [:]
    var byNumber: [Int: Color] = [:]
    var byColor: [Color: [Double]] = [:]
    var byMessage: [Message: Bool] = [:]
    var data: [UInt8] = []
    var grid: [[Int?]] = []
    var position: Position?
    var small = Small()
    var unsigned: UInt64 = .max
    var float: Float = 0.1
}

/// A type with a form of its own, inside types which have none.
struct Position: Codable, Hashable, MessagePackable, Sendable {
    var x: Int
    var y: Int

    init(x: Int, y: Int) { (self.x, self.y) = (x, y) }

    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(2)
        writer.write(x)
        writer.write(y)
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        try reader.readArrayHeader(of: 2)
        x = try reader.readInt()
        y = try reader.readInt()
    }
}

let fullBox = Box(
    seed: Seed(root: "/", minimumSize: nil),
    items: [
        Item(name: "a", color: .red, last: .both(.tick, .add(url: "u", tags: ["x", "y"]))),
        Item(name: "b", color: .green, last: nil), Item(name: "c", color: .red, last: .probed(isUp: true, milliseconds: 3)),
    ],
    numbers: Set(-20..<20), byName: ["a": 1, "b": 2], byNumber: [1: .red, -300: .green], byColor: [.red: [1, 2.5], .green: []],
    byMessage: [.tick: true, .asked(3): false], data: [1, 2, 255], grid: [[1, nil], [], [nil]], position: Position(x: 1, y: -1))
