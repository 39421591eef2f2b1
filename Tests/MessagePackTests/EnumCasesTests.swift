import Testing

@testable import MessagePack

/// The cases of an enum are found where it has no associated values, and of every other type nothing is said.
@Suite struct EnumCasesTests {
    private enum One { case only }
    private enum Three: Equatable { case first, second, third }
    private enum Tagged: CodingKey { case name, count }
    private enum Holding { case one(Three), none }
    private enum Alone { case one(Bool) }
    private enum Both { case one(Bool), other(Bool) }
    private struct Wrapped { let value: Three }

    @Test func `Cases come in the order of their declaration`() {
        #expect(enumCases(of: One.self) == [.only])
        #expect(enumCases(of: Three.self) == [.first, .second, .third])
        #expect(enumCases(of: Tagged.self)?.map(\.stringValue) == ["name", "count"])
        #expect(enumCases(of: Never.self) == [])
    }

    @Test func `Of an enum with associated values, and of what is no enum, nothing is said`() {
        #expect(enumCases(of: Holding.self) == nil && enumCases(of: Alone.self) == nil && enumCases(of: Both.self) == nil)
        #expect(enumCases(of: Three?.self) == nil && enumCases(of: Wrapped.self) == nil)
        #expect(enumCases(of: Bool.self) == nil && enumCases(of: UInt8.self) == nil && enumCases(of: String.self) == nil)
    }

    @Test func `An enum is told from all else by its type`() {
        #expect(isEnum(One.self) && isEnum(Three.self) && isEnum(Holding.self))
        #expect(
            !isEnum(Three?.self) && !isEnum(Wrapped.self) && !isEnum(Bool.self) && !isEnum(Int.self) && !isEnum((any Error).self))
    }
}
