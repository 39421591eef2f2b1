/// A decoder of bytes that somebody else may have written: a peer, a file, a person.
///
/// Whatever the bytes are, it ends with a typed error or with a value that is written and read again as the same, never with a trap.
/// Tried by `FuzzTests` with seeded mutations and by `make fuzz` with libFuzzer.
public struct FuzzSubject: Sendable, CustomStringConvertible {
    public let name: String
    /// Whether structure shows in its bytes as MessagePack or as text.
    public let isText: Bool
    /// Well-formed inputs to begin with.
    public let examples: @Sendable () throws -> [[UInt8]]
    /// Whether the bytes could be read.
    ///
    /// - Throws: `Violation`, or an error that is none of those that the decoder promises.
    public let read: @Sendable ([UInt8]) throws -> Bool

    public var description: String { name }

    public static let all = [
        frames, values, programTypes, lenientTypes, json, arguments, settings, records, replays, snapshots, outboxes,
    ]

    public static func named(_ name: String) -> FuzzSubject? { all.first { $0.name == name } }
}

/// What a decoder did that it never may.
public struct Violation: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

func require(_ isSo: Bool, _ otherwise: @autoclosure () -> String) throws(Violation) {
    if !isSo { throw Violation(otherwise()) }
}
