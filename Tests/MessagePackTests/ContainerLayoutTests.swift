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
            #expect(ContainerLayout.look(at: try decoder.container(keyedBy: Key.self)))
        }

        func encode(to encoder: any Encoder) throws {
            #expect(ContainerLayout.look(at: encoder.container(keyedBy: Key.self)))
        }
    }

    @Test func `Those of this standard library are references, so they are kept`() throws {
        _ = try MessagePackDecoder().decode(Kept.self, from: try MessagePackEncoder().encode(Kept()))
    }

    @Test func `What is no reference alone is known as that`() {
        #expect(ContainerLayout.look(at: Reference()))
        #expect(!ContainerLayout.look(at: Two()))
        #expect(!ContainerLayout.look(at: Number()))
        #expect(!ContainerLayout.look(at: Tagged()))
        #expect(!ContainerLayout.look(at: UInt.max))
        #expect(!ContainerLayout.look(at: Choice.one(Box())))
        #expect(!ContainerLayout.look(at: Choice.none))
        #expect(!ContainerLayout.look(at: ()))
    }

    @Test func `An answer stays the same`() {
        for _ in 1...3 {
            #expect(ContainerLayout.isOneReference(Reference()))
            #expect(!ContainerLayout.isOneReference(Number()))
        }
    }
}
