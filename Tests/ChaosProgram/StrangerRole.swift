import Foundation
import Strangers

/// Peers that have nothing of ours, see `Strangers.h`: a flood of those whom nobody knows, and a listener without a store, with one who asks
/// it.
struct StrangerRole {
    private let arguments: RoleArguments
    private let host: String
    private let port: Int32
    private let seconds: Int32

    init(_ arguments: RoleArguments) throws {
        self.arguments = arguments
        host = try arguments.text("host")
        port = Int32(try arguments.number("port"))
        seconds = Int32(try arguments.number("seconds"))
    }

    func flood() throws -> Never {
        exit(strangers_flood(host, port, try arguments.text("server"), Int32(try arguments.number("peers")), seconds))
    }

    func listen() -> Never { exit(strangers_listen(host, port, seconds)) }

    func ask() throws -> Never {
        exit(
            strangers_ask(
                host, port, try arguments.text("server"), try arguments.text("public"), try arguments.text("secret"),
                Int32(try arguments.number("rate")), seconds))
    }
}
