import ProcessSupport
import SamovarStore
import Testing
import ZeroMQ

@Suite struct FrontRoomTests {
    @Test func `Receipts for a whole window wait for a client that does not run, and none is lost`() async throws {
        let scratch = try Scratch()
        let context = try Context()
        var front = try Socket(context, .router, options: .front)
        try front.bind("ipc://\(scratch.path)/front")
        var options = SocketOptions.client
        // Nothing waits at its side, as after a long time.
        options.receiveHighWaterMark = 1
        var client = try Socket(context, .dealer, options: options)
        try client.connect("ipc://\(scratch.path)/front")
        var route: [UInt8]?
        try await eventually("it is connected") {
            _ = try client.send([[1]])
            route = try front.receive()?.frames.first
            return route != nil
        }
        // What the system buffers between them is no room that can be counted on.
        let receipt = [UInt8](repeating: 7, count: 1_024)
        for number in 0..<StoreSettings().window {
            #expect(try front.send([route ?? [], receipt]) == .sent, "receipt \(number)")
        }
    }
}
