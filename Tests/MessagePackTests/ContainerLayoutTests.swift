import Testing

@testable import MessagePack

/// Containers are kept as the reference that they are, which only a look at them can tell.
@Suite struct ContainerLayoutTests {
    private enum Key: CodingKey { case a }

    private final class Box {}

    private struct Reference { let box = Box() }
    private struct Two { let first = Box(), second = Box() }
    private struct Number { let number = UInt.max }
    private struct Tagged { let number = UInt32.max, small = UInt32.max }
    private enum Choice { case one(Box), none }

    private struct Kept: Codable {
        init() {}

        init(from decoder: any Decoder) throws {
            #expect(try isReference(decoder.container(keyedBy: Key.self)))
        }

        func encode(to encoder: any Encoder) throws {
            #expect(isReference(encoder.container(keyedBy: Key.self)))
        }
    }

    @Test func `Those of this standard library are references, so they are kept`() throws {
        _ = try MessagePackDecoder().decode(Kept.self, from: try MessagePackEncoder().encode(Kept()))
    }

    @Test func `What is no reference alone is known as that`() {
        #expect(isReference(Reference()))
        #expect(!isReference(Two()))
        #expect(!isReference(Number()))
        #expect(!isReference(Tagged()))
        #expect(!isReference(UInt.max))
        #expect(!isReference(Choice.one(Box())))
        #expect(!isReference(Choice.none))
        #expect(!isReference(()))
    }
}
