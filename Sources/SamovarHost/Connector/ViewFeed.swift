import MessagePack
public import SamovarCore
import SamovarPeers
import SamovarWire

/// How a reader wants its views.
public enum ViewMode: Sendable {
    /// Newest wins: the first is the current one, and a slow reader misses some. It costs the store nothing.
    case latest
    /// The current one and then that of every turn, in order, changed or not. The store takes a view after each turn as long as
    /// somebody reads this way, and keeps the newest of them; a reader that is slower for too long is told so.
    case lossless
}

/// Views are missing between those that were read and those that come.
public struct ViewGap: Error, Equatable, Sendable, CustomStringConvertible {
    /// The turn of the last view that was read.
    public let after: Int
    /// Why, in words.
    public let reason: String

    /// What is missing and why, in a sentence.
    public var description: String { "views after turn \(after) are missing: \(reason)" }
}

/// The store has got another timeline while a view of a turn was waited for: what the turn did may be gone, and its number is that
/// of another turn there, or of none.
public struct OtherTimeline: Error, Equatable, Sendable, CustomStringConvertible {
    /// The store's, now.
    public let timeline: Timeline

    /// What has happened, in a sentence.
    public var description: String { "the store has another journal now, timeline \(timeline)" }
}

extension Connector {
    /// The current view and those that follow.
    ///
    /// The sequence ends with the client. It throws `ViewGap` if views are missing in `lossless` mode: another sequence
    /// begins with the current view again.
    public func views(_ mode: ViewMode) -> ViewFeed<P> { ViewFeed(client: client, mode: mode) }

    /// The values of a part of the view, without repetitions, newest wins.
    public func views<Slice: Equatable & Sendable>(
        _ part: any KeyPath<P.ViewState, Slice> & Sendable
    ) -> ViewSlices<P, Slice> {
        ViewSlices(views: views) { $0[keyPath: part] }
    }

    /// Pairs of two parts of the view; a pair that differs in neither from the one before is left out.
    public func views<First: Equatable & Sendable, Second: Equatable & Sendable>(
        _ first: any KeyPath<P.ViewState, First> & Sendable, _ second: any KeyPath<P.ViewState, Second> & Sendable
    ) -> ViewSlices<P, ViewPair<First, Second>> {
        ViewSlices(views: views) { ViewPair(first: $0[keyPath: first], second: $0[keyPath: second]) }
    }
}

/// Two parts of a view.
public struct ViewPair<First: Equatable & Sendable, Second: Equatable & Sendable>: Equatable, Sendable {
    /// The first part.
    public let first: First
    /// The second part.
    public let second: Second
}

/// The views of a program in one of two modes.
public struct ViewFeed<P: Program>: AsyncSequence, Sendable {
    /// A view and its turn.
    public typealias Element = Connector<P>.View
    /// `ViewGap`, or what decoding throws.
    public typealias Failure = any Error

    let client: StoreClient
    let mode: ViewMode

    /// The views in the mode of the sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
        enum Source {
            case latest(AsyncStream<StoreClient.ViewEvent>.AsyncIterator)
            case lossless(PagedViews)
        }

        private var source: Source
        private let codec = ValueCodec<P.ViewState>(MessagePackEncoder(), MessagePackDecoder())

        init(_ source: Source) { self.source = source }

        /// - Throws: `ViewGap`; what decoding a view throws, after which it goes on with the next one.
        public mutating func next() async throws -> Element? {
            switch source {
            case .latest(var events):
                defer { source = .latest(events) }
                while let event = await events.next() {
                    guard case .view(let view) = event else { continue }
                    return try Element(turn: view.turn, bytes: view.bytes, codec)
                }
                return nil
            case .lossless(var pages):
                let view = try await pages.next()
                source = .lossless(pages)
                guard let view else { return nil }
                return try Element(turn: view.turn, bytes: view.bytes, codec)
            }
        }
    }

    /// Begins with the current view, each time.
    public func makeAsyncIterator() -> AsyncIterator {
        switch mode {
        case .latest: AsyncIterator(.latest(client.views().makeAsyncIterator()))
        case .lossless: AsyncIterator(.lossless(PagedViews(client: client)))
        }
    }
}

/// The views of every turn, page by page: the next page is asked for when this one is used up.
struct PagedViews {
    let client: StoreClient
    private var page: ArraySlice<TurnView> = []
    private var last = ViewPage.now
    private var timeline: Timeline?

    init(client: StoreClient) { self.client = client }

    mutating func next() async throws(ViewGap) -> TurnView? {
        while page.isEmpty {
            switch await client.page(.views(after: last, in: timeline)) {
            case .page(.views(let views), let timeline):
                if views.isMissingSome {
                    throw ViewGap(after: last, reason: "the store does not keep them any more, or was restarted")
                }
                self.timeline = timeline
                page = views.views[...]
            case .page, .none: return nil
            case .otherTimeline(let timeline):
                throw ViewGap(after: last, reason: "the store has another journal now, timeline \(timeline)")
            }
        }
        let view = page.removeFirst()
        last = view.turn
        return view
    }
}

/// Parts of the views of a program, without repetitions.
public struct ViewSlices<P: Program, Slice: Equatable & Sendable>: AsyncSequence, Sendable {
    /// The part.
    public typealias Element = Slice
    /// It throws nothing.
    public typealias Failure = Never

    let views: Views<P>
    let slice: @Sendable (P.ViewState) -> Slice

    /// Passes over views in which the part is the same.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var views: Views<P>.AsyncIterator
        let slice: @Sendable (P.ViewState) -> Slice
        var last: Slice?

        /// The next value that differs from the one before; nil at the end.
        public mutating func next() async -> Slice? {
            while let view = await views.next() {
                let value = slice(view.state)
                if value == last { continue }
                last = value
                return value
            }
            return nil
        }
    }

    /// The values of this sequence; iterate over it once.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(views: views.makeAsyncIterator(), slice: slice)
    }
}
