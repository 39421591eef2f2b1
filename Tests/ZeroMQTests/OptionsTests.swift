import CZeroMQ
import Testing

@testable import ZeroMQ

@Suite struct OptionsTests {
    struct Preset: CustomTestStringConvertible, Sendable {
        let name: String
        let kind: Socket.Kind
        let options: SocketOptions
        /// The options in which the presets differ.
        let frameBytes: Int64
        var linger: Int32 = 0
        var sends: Int32 = 1000
        var receives: Int32 = 1000
        var connects = false

        var testDescription: String { name }
    }

    static let presets = [
        Preset(name: "front", kind: .router, options: .front, frameBytes: 2 << 20, sends: 4_352),
        Preset(name: "work", kind: .router, options: .work, frameBytes: 5 << 20),
        Preset(name: "admin", kind: .router, options: .admin, frameBytes: 1 << 20),
        Preset(name: "view", kind: .extendedPublisher, options: .view, frameBytes: 512, linger: 500, sends: 8, receives: 16),
        Preset(name: "client", kind: .dealer, options: .client, frameBytes: 64 << 20, connects: true),
        Preset(name: "subscriber", kind: .subscriber, options: .subscriber, frameBytes: 64 << 20, receives: 16, connects: true),
        Preset(name: "worker", kind: .dealer, options: .worker, frameBytes: 5 << 20, connects: true),
    ]

    @Test(arguments: presets) func `Preset is what libzmq has`(_ preset: Preset) throws {
        let context = try Context()
        let socket = try Socket(context, preset.kind, options: preset.options)
        let handle = socket.handle

        func expect(_ option: Int32, _ value: Int32, sourceLocation: SourceLocation = #_sourceLocation) throws {
            var actual: Int32 = 0
            var size = MemoryLayout<Int32>.size
            #expect(zmq_getsockopt(handle.pointer, option, &actual, &size) == 0 && actual == value, sourceLocation: sourceLocation)
        }
        var (frameBytes, size) = (Int64(0), MemoryLayout<Int64>.size)
        #expect(zmq_getsockopt(handle.pointer, ZMQ_MAXMSGSIZE, &frameBytes, &size) == 0 && frameBytes == preset.frameBytes)
        try expect(ZMQ_LINGER, preset.linger)
        try expect(ZMQ_SNDHWM, preset.sends)
        try expect(ZMQ_RCVHWM, preset.receives)
        try expect(ZMQ_BACKLOG, 1024)
        try expect(ZMQ_HANDSHAKE_IVL, preset.connects ? 30_000 : 5_000)
        try expect(ZMQ_TCP_KEEPALIVE, 1)
        try expect(ZMQ_TCP_KEEPALIVE_IDLE, 15)
        try expect(ZMQ_TCP_KEEPALIVE_INTVL, 5)
        try expect(ZMQ_TCP_KEEPALIVE_CNT, 3)
        try expect(ZMQ_TCP_MAXRT, 20_000)
        try expect(ZMQ_HEARTBEAT_IVL, 0)
        try expect(ZMQ_HEARTBEAT_TIMEOUT, -1)
        try expect(ZMQ_HEARTBEAT_TTL, 0)
        try expect(ZMQ_IMMEDIATE, preset.connects ? 1 : 0)
        try expect(ZMQ_RECONNECT_IVL, preset.connects ? -1 : 100)
        try expect(ZMQ_CONNECT_TIMEOUT, preset.connects ? 5000 : 0)
    }

    @Test func `Refused value names its option`() throws {
        let context = try Context()
        var options = SocketOptions.front
        options.handshakeTimeout = -1
        let error = #expect(throws: ZeroMQError.self) { _ = try Socket(context, .router, options: options) }
        #expect(error?.description == "set ZMQ_HANDSHAKE_IVL: Invalid argument")
        // The half-made socket is gone, or the end of the context would wait for ever.
    }

    @Test func `Value that is not taken over is an error`() throws {
        let context = try Context()
        let socket = try Socket(context, .dealer, options: .client)
        // libzmq rounds this option to tenths of a second.
        let pointer = socket.handle.pointer
        let error = #expect(throws: ZeroMQError.self) {
            try ZeroMQ.set("ZMQ_HEARTBEAT_TTL", ZMQ_HEARTBEAT_TTL, to: Int32(1234), of: pointer)
        }
        #expect(error?.code == .optionMismatch)
        #expect(error?.description == "set ZMQ_HEARTBEAT_TTL: it is 1200 instead of 1234")
    }
}
