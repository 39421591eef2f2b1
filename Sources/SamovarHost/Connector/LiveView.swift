import MessagePack
public import Observation
public import SamovarCore

/// The current view of a program, for a user interface: a change can be observed with Swift's `Observation`, on every platform.
///
/// ```swift
/// let live = LiveView(connector)
/// async let following: Void = live.follow()
/// for await text in Observations({ live.view?.text ?? "…" }) { label.text = text }
/// ```
@MainActor
@Observable
public final class LiveView<P: Program> {
    /// How current the view is.
    public enum Status: Sendable, Equatable {
        /// No view has come yet.
        case connecting
        /// It is the newest there is, as far as anybody can tell.
        case live
        /// A newer one exists, and was asked for.
        case resyncing
        /// Nothing was heard of the store for a while, or nobody follows it any more; the view may be old.
        case stale
        /// The connector has ended.
        case ended
    }

    /// Nil until the first has come.
    public private(set) var view: P.ViewState?
    /// The turn that the view shows.
    public private(set) var turn = 0
    /// How current the view is.
    public private(set) var status = Status.connecting

    private let client: StoreClient
    private let codec = ValueCodec<P.ViewState>(MessagePackEncoder(), MessagePackDecoder())

    /// A live view of a connector's program. Nothing changes before `follow` is called.
    public init(_ connector: Connector<P>) {
        client = connector.client
    }

    /// Follows the program until the connector ends or this task is cancelled; after a cancellation it may be called again.
    ///
    /// - Throws: what decoding a view throws: this build is another than the store's, under one schema version.
    public func follow() async throws {
        status = unfollowed
        // Also by an error.
        defer { if status != .ended { status = unfollowed } }
        for await event in client.views() {
            switch event {
            case .view(let new):
                view = try codec.decode(new.bytes)
                turn = new.turn
                status = .live
            case .live, .idle: if view != nil { status = .live }
            case .stale: if view != nil { status = .stale }
            case .resyncing: if view != nil { status = .resyncing }
            }
        }
        if !Task.isCancelled { status = .ended }
    }

    /// What is known of the view while nobody tells.
    private var unfollowed: Status { view == nil ? .connecting : .stale }
}
