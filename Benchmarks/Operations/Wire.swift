import BareZeroMQ
import ZeroMQ

/// Two frames through a pair of sockets within the process: the wrapper, and the same in C.
func wireBenchmarks() {
    let pair = prepared { try Pair() }
    measure("ZeroMQ wrapper, two frames") { try pair.carry() }
    guard let bare = bare_pair_open("inproc://bare") else { fatalError("libzmq gives no pair") }
    measure("ZeroMQ in C, two frames") {
        let size = bare_pair_carry(bare)
        precondition(size == 80, "the frames did not come")
        return size
    }
}

private final class Pair {
    private let context: Context
    private var sender: Socket
    private var receiver: Socket
    private let frames = [[UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 64)]

    init() throws {
        let context = try Context()
        var receiver = try Socket(context, .pair, options: SocketOptions(maximumFrameBytes: 1 << 20))
        var sender = try Socket(context, .pair, options: SocketOptions(maximumFrameBytes: 1 << 20))
        try receiver.bind("inproc://pair")
        try sender.connect("inproc://pair")
        self.context = context
        self.receiver = receiver
        self.sender = sender
    }

    func carry() throws -> Int {
        // Neither waits, and libzmq looks only now and then whether the other end has done something.
        while try sender.send(frames) != .sent {}
        while true {
            if let message = try receiver.receive() { return message.frames.reduce(0) { $0 + $1.count } }
        }
    }
}
