package import Logging
package import SamovarHost

/// What shows a store in a browser. A program names it if it wants a page, and builds nothing of it otherwise:
///
/// ```swift
/// import SamovarWeb
///
/// static var page: PageKind? { .web }
/// ```
public struct PageKind: Sendable {
    package let serve: @Sendable (PageRequest) async throws -> Void
    package let explore: @Sendable (ExploreRequest) async throws -> Void

    /// - Parameters:
    ///   - serve: runs the client and serves the page, until the client ends or the task is cancelled.
    ///   - explore: what the process does that computes the past for it.
    package init(
        serve: @escaping @Sendable (PageRequest) async throws -> Void,
        explore: @escaping @Sendable (ExploreRequest) async throws -> Void
    ) {
        (self.serve, self.explore) = (serve, explore)
    }
}

/// Which store a page shows, and where.
package struct PageRequest: Sendable {
    /// Knows of no types. What serves the page runs it.
    package let client: PageClient
    package let admin: AdminClient
    /// On the loopback interface; 0 for one that is free.
    package let port: UInt16
    /// Of the page.
    package let title: String
    /// Where the token is kept; nil for one that ends with this process.
    package let tokenFile: String?
    /// The arguments with which the own executable computes the past of the store; nil if it cannot.
    package let explorer: [String]?
    package let logger: Logger
    /// Called once, with the address that a person opens.
    package let isReady: @Sendable (String) -> Void
}

/// Which past the process of a page computes.
package struct ExploreRequest: Sendable {
    package typealias Body = @Sendable (Past) throws -> Void

    /// Its owner's alone, and removed with it.
    package let folder: String
    /// Turns at which the program has ended this process before, or never ended, and how.
    package let blocked: [Int: String]
    /// Opens the past for as long as the body runs, on a thread of its own.
    package let read: @Sendable (@escaping Body) async throws -> Void
}
