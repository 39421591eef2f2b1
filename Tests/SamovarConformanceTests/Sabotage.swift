import MessagePack
import Testing

@testable import SamovarConformance

/// A behaviour that breaks a rule: somebody between an honest peer and the store changes what they say to each other.
struct Sabotage: Sendable, CustomTestStringConvertible {
    let name: String
    let subject: Subject
    /// The scenario that finds it.
    let scenario: String
    private let change: @Sendable (Meddler) -> Void

    init(_ name: String, _ subject: Subject, foundBy scenario: String, _ change: @escaping @Sendable (Meddler) -> Void) {
        (self.name, self.subject, self.scenario, self.change) = (name, subject, scenario, change)
    }

    /// One for one play.
    var meddler: Meddler {
        let meddler = Meddler()
        change(meddler)
        return meddler
    }

    var testDescription: String { "a \(subject) that \(name)" }
}

/// What is done to the frames and lines of one play.
final class Meddler {
    /// Nil for a peer that dies of it.
    var toPeer: ([[UInt8]]) -> [[[UInt8]]]? = { [$0] }
    var toStore: ([[UInt8]]) -> [[[UInt8]]] = { [$0] }
    var toPerson: (Value) -> [Value] = { [$0] }
    var connected: () -> Void = {}

    /// Changes frames of this kind to the store, or drops them.
    func outgoing(_ kind: Kind, _ change: @escaping (RawFrame) -> [RawFrame]) {
        toStore = { Self.changed($0, kind, change) }
    }

    func incoming(_ kind: Kind, _ change: @escaping (RawFrame) -> [RawFrame]) {
        toPeer = { Self.changed($0, kind, change) }
    }

    /// What is no frame passes.
    private static func changed(_ parts: [[UInt8]], _ kind: Kind, _ change: (RawFrame) -> [RawFrame]) -> [[[UInt8]]] {
        guard let frame = try? RawFrame(parts: parts), frame.is(kind) else { return [parts] }
        return change(frame).map(\.parts)
    }
}

extension RawFrame {
    func with(_ change: (inout RawFrame) -> Void) -> RawFrame {
        var frame = self
        change(&frame)
        return frame
    }

    /// The entries of the list that is the body.
    func entries(_ change: ([Value]) -> [Value]) -> RawFrame { with { $0.body[0] = .array(change($0.body[0].elements)) } }
}

extension Value {
    func replacing(_ index: Int, by value: Value) -> Value {
        var elements = elements
        elements[index] = value
        return .array(elements)
    }
}
