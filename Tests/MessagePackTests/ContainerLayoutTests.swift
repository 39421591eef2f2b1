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
            #expect(try reference(of: decoder.container(keyedBy: Key.self)) != nil)
        }

        func encode(to encoder: any Encoder) throws {
            #expect(reference(of: encoder.container(keyedBy: Key.self)) != nil)
        }
    }

    @Test func `Those of this standard library are references, so they are kept`() throws {
        _ = try MessagePackDecoder().decode(Kept.self, from: try MessagePackEncoder().encode(Kept()))
    }

    @Test func `What is no reference alone is known as that`() {
        #expect(reference(of: Reference()) != nil)
        #expect(reference(of: Two()) == nil)
        #expect(reference(of: Number()) == nil)
        #expect(reference(of: Tagged()) == nil)
        #expect(reference(of: UInt.max) == nil)
        #expect(reference(of: Choice.one(Box())) == nil)
        #expect(reference(of: Choice.none) == nil)
        #expect(reference(of: ()) == nil)
    }
}
