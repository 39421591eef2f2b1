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

    /// - Parameter serve: serves the page until its task is cancelled.
    package init(serve: @escaping @Sendable (PageRequest) async throws -> Void) {
        self.serve = serve
    }
}

/// Which store a page shows, and where.
package struct PageRequest: Sendable {
    /// Runs, and knows of no types.
    package let client: StoreClient
    package let admin: AdminClient
    /// On the loopback interface; 0 for one that is free.
    package let port: UInt16
    /// Of the page.
    package let title: String
    /// Where the token is kept; nil for one that ends with this process.
    package let tokenFile: String?
    package let logger: Logger
    /// Called once, with the address that a person opens.
    package let isReady: @Sendable (String) -> Void

    package init(
        client: StoreClient, admin: AdminClient, port: UInt16, title: String, tokenFile: String?, logger: Logger,
        isReady: @escaping @Sendable (String) -> Void
    ) {
        (self.client, self.admin, self.port, self.title, self.tokenFile) = (client, admin, port, title, tokenFile)
        (self.logger, self.isReady) = (logger, isReady)
    }
}

/// Why there is no page.
package struct PageError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
