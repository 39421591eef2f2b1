import MessagePack
public import SamovarCore
import SamovarPeers
import SamovarWire

/// The place of an output among all that a program has emitted, across restarts and in one journal.
///
/// A listener that keeps the place of the last output it has dealt with, together with what it made of it, hears each output
/// exactly once.
public struct OutputPlace: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Of the journal; nil for whichever the store has.
    public let timeline: Timeline?
    /// The turn that emitted it, and the place among what that turn ordered.
    public let id: EffectID

    /// The place of the output that this turn ordered at this position.
    public init(timeline: Timeline?, id: EffectID) {
        self.timeline = timeline
        self.id = id
    }

    /// Before the first output that the store still has.
    public static let start = OutputPlace(timeline: nil, id: EffectID(turn: 0, ordinal: 0))

    /// In the order in which outputs were emitted.
    public static func < (a: OutputPlace, b: OutputPlace) -> Bool { a.id < b.id }

    /// `turn/ordinal`, with the timeline and a slash before it where it is known.
    public var description: String { timeline.map { "\($0)/\(id)" } ?? "\(id)" }

    /// Reads a description; nil if `text` is anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), let turn = Int(parts[parts.count - 2]), let ordinal = Int(parts[parts.count - 1]),
            turn >= 0, ordinal >= 0
        else { return nil }
        let timeline = parts.count == 3 ? Timeline(parts[0]) : nil
        guard parts.count == 2 || timeline != nil else { return nil }
        self.init(timeline: timeline, id: EffectID(turn: turn, ordinal: ordinal))
    }
}

extension OutputPlace: Codable {
    /// Reads it as text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let place = OutputPlace(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the place of an output")
        }
        self = place
    }

    /// Writes it as text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Outputs between two places cannot be had: told before anything that comes after them.
public struct OutputGap: Error, Sendable, CustomStringConvertible {
    /// Why they cannot be had.
    public enum Reason: Sendable {
        /// They were so many, or so long ago, that the store does not keep them any more.
        case forgotten
        /// The store has another journal now; its outputs are not those of before.
        case otherTimeline
    }

    /// The last place that was heard.
    public let after: OutputPlace
    /// Where to go on.
    public let next: OutputPlace
    /// Why they cannot be had.
    public let reason: Reason

    /// What is missing and why, in a sentence.
    public var description: String {
        switch reason {
        case .forgotten: "outputs after \(after) and up to \(next) are not kept any more"
        case .otherTimeline: "the store has another journal: outputs after \(after) cannot be told from what came before"
        }
    }
}

/// An output of another program, with its place.
public struct Heard<Output: Sendable>: Sendable {
    /// Keep it with what is made of the output.
    public let place: OutputPlace
    /// What was emitted.
    public let output: Output
}

extension Heard: Equatable where Output: Equatable {}

extension Connector {
    /// What the program has emitted since a place, and what it will: in order, none twice and none left out.
    ///
    /// The store keeps the newest 65,536 outputs, or 16 MiB of them. It waits for no reader.
    ///
    /// - Parameter place: of an output that was heard. One of a turn that is not there yet is misuse, and ends the connector.
    public func outputs(after place: OutputPlace = .start) -> Outputs<P> {
        Outputs(client: client, place: place)
    }
}

/// The outputs of a program. It ends with the client, and throws `OutputGap` where some are missing; another sequence after
/// `gap.next` goes on behind them.
public struct Outputs<P: Program>: AsyncSequence, Sendable {
    /// An output with its place.
    public typealias Element = Heard<P.Output>
    /// `OutputGap`, or what decoding throws.
    public typealias Failure = any Error

    let client: StoreClient
    let place: OutputPlace

    /// Asks for a page when the one before is used up.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var pages: PagedOutputs

        /// - Throws: `OutputGap`; what decoding an output throws.
        public mutating func next() async throws -> Element? {
            guard let (place, bytes) = try await pages.next() else { return nil }
            return Heard(place: place, output: try MessagePackDecoder().decode(P.Output.self, from: bytes))
        }
    }

    /// Begins after the place of the sequence, each time.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pages: PagedOutputs(client: client, after: place))
    }
}

/// The outputs of a program that is only known at run time, page by page.
public struct PagedOutputs: Sendable {
    private let client: StoreClient
    private var page: ArraySlice<EmittedOutput> = []
    private var last: OutputPlace
    private let waits: Bool

    /// - Parameter waits: for outputs to come; else it ends with those that there are.
    init(client: StoreClient, after place: OutputPlace, waits: Bool = true) {
        self.client = client
        last = place
        self.waits = waits
    }

    /// The next output and its place, in MessagePack; nil when the client has ended.
    public mutating func next() async throws(OutputGap) -> (OutputPlace, [UInt8])? {
        while page.isEmpty {
            if Task.isCancelled { return nil }
            switch await client.page(.outputs(after: last.id, in: last.timeline, waits: waits)) {
            case .page(.outputs(let outputs), let timeline):
                page = outputs.outputs[...]
                let after = last
                last = OutputPlace(timeline: timeline, id: outputs.lost ?? last.id)
                // Who begins at the start wants what there is.
                if outputs.lost != nil, after != .start { throw OutputGap(after: after, next: last, reason: .forgotten) }
                if page.isEmpty { return nil }
            case .page, .none: return nil
            case .otherTimeline(let timeline):
                let after = last
                last = OutputPlace(timeline: timeline, id: OutputPlace.start.id)
                throw OutputGap(after: after, next: last, reason: .otherTimeline)
            }
        }
        let output = page.removeFirst()
        last = OutputPlace(timeline: last.timeline, id: output.id)
        return (last, output.bytes)
    }
}

extension StoreClient {
    /// The outputs of the program, without its types.
    ///
    /// - Parameter waits: for outputs to come; else it ends with those that there are.
    public func outputs(after place: OutputPlace = .start, waits: Bool = true) -> PagedOutputs {
        PagedOutputs(client: self, after: place, waits: waits)
    }
}
