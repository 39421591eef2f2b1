import SamovarCore

/// A type with about everything that a program's types may have.
struct Sample: Codable, Equatable, Sendable {
    indirect enum Shape: Codable, Equatable, Sendable {
        case point
        case circle(radius: Double)
        case both(Shape, Shape)
        case named(String, at: Place?)
    }

    struct Place: Codable, Hashable, Sendable {
        var x: Int8
        var y: UInt64
    }

    var flag: Bool
    var small: UInt8
    var number: Int
    var ratio: Float
    var text: String
    var bytes: [UInt8]
    var time: Timestamp
    var shapes: [Shape]
    var set: Set<Int16>
    var names: [String: Place]
    var places: [Place: String]
    var nothing: Int?

    static let small = Sample(
        flag: false, small: 0, number: 0, ratio: 0, text: "", bytes: [], time: Timestamp(microseconds: 0), shapes: [], set: [],
        names: [:], places: [:])

    static let full = Sample(
        flag: true, small: 255, number: .min, ratio: 1.5, text: "tëxt\u{0}", bytes: Array(0...40),
        time: Timestamp(microseconds: 1_700_000_000_000_000),
        shapes: [.point, .circle(radius: 2.5), .both(.point, .named("x", at: Place(x: -1, y: .max))), .named("", at: nil)],
        set: [1, -300, 7], names: ["a": Place(x: 1, y: 2), "b": Place(x: 3, y: 70_000)], places: [Place(x: 0, y: 0): "origin"],
        nothing: 5)
}

/// The smallest program with effects and follow-ups, for journals and snapshots.
enum Errands: OpenProgram {
    struct State: Portable {
        var names: Set<String> = []
        var done = 0
    }

    enum Message: Portable {
        case add(String)
        case run(String)
        case again(Int)
        case finished(String)
    }

    struct Effect: Portable {
        var name: String
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Errands> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Errands> {
        switch message {
        case .add(let name):
            state.names.insert(name)
            return .none
        case .run(let name): return .run(Effect(name: name), queue: "errands", retry: .times(2), timeout: .seconds(3))
        case .again(let times): return times > 0 && times < 50 ? .then(.again(times - 1)) : .none
        case .finished:
            state.done &+= 1
            return .none
        }
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}
