import SamovarCore

/// A program with types of every kind for which code is written, and of every kind for which none is.
enum Orders: Program {
    enum Input: Portable {
        case place(Item, at: Int)
        case `in`(zebra: Int, a: Int?, items: [Item])
        case named(String)
        case grid([[Int?]], byNumber: [Int: Item])
        case reset
        case through(`inout`: Int)
    }

    enum Size: String, Portable { case small, large }
    enum Level: Int, Portable { case low = 3, high = 9 }

    struct Reference: RawRepresentable, Hashable, Portable {
        var rawValue: String
    }

    struct Item: Portable {
        let x: Double
        var id: Reference
        var size: Size
        var level: Level
        var name: String
        var note: String?
        var `default`: Bool
        var ratio: Float
        var tags: [String]
        var seen: Set<Int>
        var counts: [String: UInt16]
        var payload: [UInt8]
        var address: Address?
        var at: Timestamp
        /// As the variables of generated code are called.
        var left: Int8
        var reader: UInt64
    }

    struct Address: Portable {
        var street: String
        var aNameOfThirtyOneBytesIsTheLimit: Int
    }

    typealias Effect = Never

    /// None of these gets code, each for another reason.
    struct ViewState: Portable {
        var percent: Percent
        var renamed: Renamed
        var tree: Tree
        var fixed: Fixed
        var box: Box<Int>
        var bySize: BySize
        var text: Text
        var twice: Twice
        var long: Long
        var longCase: LongCase
        var object: Object
        var odd: Odd
        var trimmed: Trimmed
        var swapped: Swapped
        var crossed: Crossed
        var crossing: Crossing
        var exchanged: Exchanged
        var described: Described
        var lone: Lone
        var unnamed: Unnamed
        var numbered: Numbered
        var sparse: Sparse
        var sparseCase: SparseCase
        /// It would get code.
        var labelled: Labelled
    }

    struct Percent: Portable {
        var value: Int

        init(value: Int) { self.value = value }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            value = try container.decode(Int.self, forKey: .value)
            guard 0..<100 ~= value else {
                throw DecodingError.dataCorruptedError(forKey: .value, in: container, debugDescription: "no percent")
            }
        }
    }

    struct Renamed: Portable {
        var name = 1
        private enum CodingKeys: String, CodingKey { case name = "n" }
    }

    indirect enum Tree: Portable { case leaf, node(Tree, Tree) }

    struct Fixed: Portable {
        var one = 1
        var notEncoded = 2
        private enum CodingKeys: CodingKey { case one }
    }

    struct Box<Content: Portable>: Portable { var content: Content }

    struct Text: Portable {
        var text = ""
        init() {}
        init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }

    struct BySize: Portable { var counts: [Size: Int] = [:] }
    struct Twice: Portable { var number: Int?? }
    struct Odd: RawRepresentable, Portable {
        var rawValue = 1
        init() {}
        init(rawValue: Int) { self.rawValue = rawValue }
        init(from decoder: any Decoder) throws { rawValue = Int(try decoder.singleValueContainer().decode(String.self)) ?? 0 }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode("\(rawValue)")
        }
    }

    struct Trimmed: RawRepresentable, Portable {
        var rawValue: String
        init(rawValue: String) { self.rawValue = rawValue }
        init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            rawValue = String(text.drop { $0 == " " })
        }
    }

    enum Swapped: Portable {
        case one(Int), other(Int)
        private enum CodingKeys: String, CodingKey { case one = "other", other = "one" }
    }

    struct Crossed: Portable {
        var one = true
        var other = false
        private enum CodingKeys: String, CodingKey { case one = "other", other = "one" }
    }

    struct Exchanged: Portable {
        enum Side: Portable { case left, right }
        var buyer = Side.left
        var seller = Side.right
        private enum CodingKeys: String, CodingKey { case buyer = "seller", seller = "buyer" }
    }

    enum Crossing: Portable {
        case pair(from: Size, to: Size)
        private enum PairCodingKeys: String, CodingKey { case from = "to", to = "from" }
    }

    enum Described: Portable, CustomStringConvertible {
        case on, off
        private enum CodingKeys: String, CodingKey { case on = "lit", off }
        var description: String { "a switch" }
    }

    enum Lone: Portable {
        case pair(from: Size)
        private enum PairCodingKeys: String, CodingKey { case from = "to" }
    }

    enum Unnamed: Portable {
        case named(String)
        private enum NamedCodingKeys: String, CodingKey { case _0 = "text" }
    }

    enum Labelled: Portable, CustomStringConvertible {
        case at(level: Level), off
        var description: String { if case .at(let level) = self { "at \(level)" } else { "off" } }
    }

    struct Long: Portable { var aNameOfMoreThanThirtyOneBytesIsTooLong = 1 }
    enum LongCase: Portable { case aNameOfMoreThanThirtyOneBytesIsTooLong(Int), short }

    enum Numbered: Portable { case pair(_0: Int), none }

    /// What is empty is left out.
    struct Sparse: Portable {
        var tags: [String] = []
        private enum CodingKeys: CodingKey { case tags }
        init() {}
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            tags = try container.decodeIfPresent([String].self, forKey: .tags) ?? []
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            if !tags.isEmpty { try container.encode(tags, forKey: .tags) }
        }
    }

    enum SparseCase: Portable {
        case lines([String])
        private enum CodingKeys: CodingKey { case lines }
        private enum LinesCodingKeys: CodingKey { case _0 }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let values = try container.nestedContainer(keyedBy: LinesCodingKeys.self, forKey: .lines)
            self = .lines(try values.decodeIfPresent([String].self, forKey: ._0) ?? [])
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var values = container.nestedContainer(keyedBy: LinesCodingKeys.self, forKey: .lines)
            if case .lines(let lines) = self, !lines.isEmpty { try values.encode(lines, forKey: ._0) }
        }
    }

    final class Object: Portable {
        let number: Int
        init(number: Int) { self.number = number }
        static func == (a: Object, b: Object) -> Bool { a.number == b.number }
    }

    typealias Message = Input
    struct State: Portable {}

    static var schema: Schema { Schema(name: "Orders", version: 1) }
    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }
    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> { .none }
    static func view(_ state: State) -> ViewState {
        ViewState(
            percent: Percent(value: 1), renamed: Renamed(), tree: .leaf, fixed: Fixed(), box: Box(content: 1), bySize: BySize(),
            text: Text(), twice: Twice(), long: Long(), longCase: .short, object: Object(number: 1), odd: Odd(),
            trimmed: Trimmed(rawValue: ""),
            swapped: .one(1), crossed: Crossed(), crossing: .pair(from: .small, to: .large),
            exchanged: Exchanged(), described: .on, lone: .pair(from: .small), unnamed: .named("a"), numbered: .pair(_0: 1),
            sparse: Sparse(), sparseCase: .lines([]), labelled: .off)
    }
}
