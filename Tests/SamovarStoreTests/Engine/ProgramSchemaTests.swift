import Foundation
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

private enum Colour: String, Portable { case red, green }

private indirect enum Tree: Portable {
    case node(left: Tree, right: Tree)
    case leaf(Int)
}

private struct Part: Portable {
    var name: String
    var colour: Colour
    var note: String?
    var sizes: [Double]
    var counts: [String: Int]
    var at: Timestamp
    var next: [Part]
}

private enum Event: Portable {
    case increment
    case add(by: Int, Part)
    case grow(Tree)
}

private struct Device: Portable {
    var id: UUID
    var page: URL
    var since: Date
    var name: String
}

/// An expression, in which a struct stands between it and itself.
private indirect enum Expression: Portable {
    case add([Term], first: Term)
    case call(name: String, Expression, on: Device)
    case number(Int)

    struct Term: Portable {
        var factor: Double
        var value: Expression
    }
}

/// Of which no value can be made up.
private indirect enum Endless: Portable {
    case both(Endless, Endless), either(Endless, Endless), other(Endless), wary(Wary)

    struct Wary: Portable {
        struct Refused: Error {}

        var number: Int

        init(from decoder: any Decoder) throws {
            number = try decoder.singleValueContainer().decode(Int.self)
            guard number > 0 else { throw Refused() }
        }
    }
}

/// With a property that takes nothing which is made up.
private enum Club: OpenProgram {
    struct Email: Portable {
        struct Refused: Error {}

        var text: String

        init(from decoder: any Decoder) throws {
            text = try decoder.singleValueContainer().decode(String.self)
            guard text.contains("@") else { throw Refused() }
        }
    }

    struct State: Portable {
        var owner: Email?
        var board: Board?
    }

    struct Board: Portable {
        var head: Email
        var size: Int
    }

    enum Message: Portable { case join }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Club> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Club> { .none }
}

@Suite struct ProgramSchemaTests {
    @Test func `The shape of a type is found by decoding`() {
        let shape = Shape(of: Event.self)
        #expect(shape.root == "Event")
        #expect(
            shape.types == [
                "Event": .cases(["increment": [:], "add": ["by": "Int", "_1": "Part"], "grow": ["_0": "Tree"]]),
                "Part": .fields([
                    "name": "String", "colour": "Colour", "note": "String?", "sizes": "[Double]", "counts": "[String: Int]",
                    "at": "Timestamp", "next": "[Part]",
                ]),
                "Colour": .names(["green", "red"]), "Timestamp": .alias("Int"),
                "Tree": .cases(["node": ["left": "Tree", "right": "Tree"], "leaf": ["_0": "Int"]]),
            ])
        #expect(Shape(of: [Int?].self) == Shape(root: "[Int?]"))
        #expect(Shape(of: [String?].self) == Shape(root: "[String?]"))
        #expect(Shape(of: [String: String??].self) == Shape(root: "[String: String??]"))
    }

    @Test func `An integer of more than 64 bits, which cannot be encoded, has no form`() {
        let shape = Shape(of: [UInt128].self)
        #expect(shape.root == "[UInt128]")
        #expect(shape.types["UInt128"].map { if case .unknown = $0 { true } else { false } } == true)
        #expect(Shape(of: [UInt64].self) == Shape(root: "[Int]"))
        #expect(throws: EncodingError.self) { try MessagePackEncoder().encode([1] as [UInt128]) }
    }

    @Test func `What takes no empty text has its form, and so has what holds it`() {
        let shape = Shape(of: Device.self)
        #expect(shape.types["Device"] == .fields(["id": "UUID", "page": "URL", "since": "Date", "name": "String"]))
        #expect(shape.types["UUID"] == .alias("String") && shape.types["Date"] == .alias("Double"))
    }

    @Test func `A case that holds its own enum has its form, whatever stands between`() {
        let shape = Shape(of: Expression.self)
        #expect(
            shape.types["Expression"]
                == .cases([
                    "add": ["_0": "[Term]", "first": "Term"], "call": ["name": "String", "_1": "Expression", "on": "Device"],
                    "number": ["_0": "Int"],
                ]))
        #expect(shape.types["Term"] == .fields(["factor": "Double", "value": "Expression"]))
    }

    @Test func `An enum of which no value can be made up ends the search`() {
        let shape = Shape(of: Endless.self)
        // Of each case what it asked for until it failed.
        let own = ["_0": "Endless"]
        #expect(shape.types["Endless"] == .cases(["both": own, "either": own, "other": own, "wary": ["_0": "Wary"]]))
        #expect(shape.root == "Endless" && shape.types["Wary"].map { if case .unknown = $0 { true } else { false } } == true)
    }

    @Test func `Types of which nothing is known are named, with the property that is to blame, and are no problem`() {
        let schema = ProgramSchema(Club.self)
        let reason = "is not compared: Email takes no value that is made up: Refused()"
        #expect(schema.uncompared == ["Board \(reason)", "Email \(reason)"])
        #expect(ProgramSchema.problems(of: Club.self, reading: schema) == [])
    }

    @Test func `A type of which nothing is known any more, or was known before, is a problem, which says why`() {
        #expect(
            problems(["M": .unknown("it takes nothing")], ["M": .fields(["x": "Int"])]) == [
                "Message was M, of which the file says nothing, and is M: compare them yourself, and write the file anew"
            ])
        #expect(
            problems(["M": .fields(["x": "Int"])], ["M": .unknown("it takes nothing")]) == [
                "Message was M and is M, whose form cannot be told (it takes nothing): let its init(from:) take what it reads, or "
                    + "give it a migration and the schema a new version"
            ])
    }

    @Test func `A program may get its first effects, and not lose its last`() {
        let (none, some) = (Shape(of: Never.self), Shape(root: "Effect", types: ["Effect": .cases(["work": [:]])]))
        #expect(ShapeComparison(none, some).problems("effect") == [])
        #expect(
            ShapeComparison(some, none).problems("effect") == [
                "Effect was Effect and is Never, which has another form: give it a migration and the schema a new version"
            ])
    }

    private func problems(_ old: [String: Shape.Definition], _ new: [String: Shape.Definition]) -> [String] {
        ShapeComparison(Shape(root: "M", types: old), Shape(root: "M", types: new)).problems("message")
    }

    @Test func `What old records cannot be read for is said, and how to mend it`() {
        #expect(
            problems(["M": .cases(["increment": [:]])], ["M": .cases(["increment": ["by": "Int"]])]) == [
                "Message.increment: field by is new and required: old records cannot be read; give it a migration and the schema a "
                    + "new version, or make it optional"
            ])
        #expect(
            problems(["M": .cases(["a": [:], "b": [:]])], ["M": .cases(["a": [:]])]) == [
                "Message.b is gone: old records with it cannot be read; keep it, or give it a migration and the schema a new version"
            ])
        #expect(
            problems(["M": .fields(["x": "Int"])], ["M": .fields(["x": "String"])]) == [
                "Message: field x was Int and is String: give it a migration and the schema a new version"
            ])
        #expect(
            problems(["M": .fields(["x": "Int?"])], ["M": .fields(["x": "Int"])]) == [
                "Message: field x was optional and is required: old records without it cannot be read; give it a migration and the "
                    + "schema a new version, or let it be Int?"
            ])
        #expect(
            problems(["M": .names(["a", "b"])], ["M": .names(["a"])]) == [
                "Message: b is gone: old records with it cannot be read; keep it, or give it a migration and the schema a new version"
            ])
        #expect(
            problems(
                ["M": .fields(["x": "[String: [A]]"]), "A": .fields([:])],
                ["M": .fields(["x": "[String: [A]]"]), "A": .fields(["y": "Int"])]
            )
            .count == 1)
    }

    @Test(
        arguments: [
            (["M": .fields(["x": "Int"])], ["M": .fields(["x": "Int?"])]),
            (["M": .fields(["x": "Int"])], ["M": .fields(["x": "Double"])]),
            (["M": .fields(["x": "Int"])], ["M": .fields([:])]),
            (["M": .fields([:])], ["M": .fields(["x": "Int?"])]),
            (["M": .cases(["a": [:]])], ["M": .cases(["a": [:], "b": ["c": "Int"]])]),
            (["M": .names(["a"])], ["M": .names(["a", "b"])]),
            (["M": .fields(["x": "M?"])], ["M": .fields(["x": "M?"])]),
            (["M": .fields(["x": "[Int]"])], ["M": .fields(["x": "[Int]?"])]),
            (["M": .fields(["x": "[String: Int]"])], ["M": .fields(["x": "[String: Int]?"])]),
            (["M": .alias("Int")], ["M": .alias("Double")]),
        ] as [([String: Shape.Definition], [String: Shape.Definition])])
    func `What does no harm is no problem`(old: [String: Shape.Definition], new: [String: Shape.Definition]) {
        #expect(problems(old, new) == [])
    }

    @Test func `Another program, a newer version and a missing migration are problems`() {
        let schema = { (name: String, version: Int) in
            var schema = ProgramSchema(Shop.self)
            (schema.name, schema.version) = (name, version)
            return schema
        }
        let migrations = { (version: Int, steps: [Migration]) in Migrations(Schema(name: "A", version: version), steps) }
        #expect(
            schema("A", 1).problems(reading: schema("B", 1), migrations(1, [])) == ["the file is of B, this program is A"])
        #expect(
            schema("A", 1).problems(reading: schema("A", 2), migrations(1, []))
                == ["the file is of version 2, which is newer than this program's, 1"])
        #expect(
            schema("A", 3).problems(reading: schema("A", 1), migrations(3, [Migration(from: 2)]))
                == ["there is no migration from version 1: add one to `migrations`"])
        #expect(schema("A", 3).problems(reading: schema("A", 2), migrations(3, [Migration(from: 2)])) == [])
        #expect(schema("A", 3).problems(reading: schema("A", 3), migrations(3, [])) == [])
    }

    @Test func `A migration that leaves a changed type alone is a problem, and one that takes it is trusted`() {
        let schema = { (version: Int, field: String) in
            var schema = ProgramSchema(Shop.self)
            (schema.name, schema.version) = ("A", version)
            let shape = Shape(root: "S", types: ["S": .fields([field: "Int"])])
            schema.shapes = ["state": shape, "view": shape]
            return schema
        }
        let problems = { (steps: [Migration]) in
            schema(3, "sum").problems(reading: schema(1, "total"), Migrations(Schema(name: "A", version: 3), steps))
        }
        #expect(
            problems([Migration(from: 1), Migration(from: 2)]) == [
                "State: field sum is new and required: old records cannot be read; give a migration from version 1 or a later one a "
                    + "`state:`, or make it optional"
            ])
        #expect(problems([Migration(from: 1), Migration(from: 2, state: { $0 })]) == [])
        #expect(problems([Migration(from: 1, message: { $0 }), Migration(from: 2)]).count == 1)
    }
}
