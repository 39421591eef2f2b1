import MessagePack

/// Messages that a peer drops without an answer, each with what is wrong with it.
struct Noise: Sendable {
    let name: String
    let parts: @Sendable (Stage) -> [[UInt8]]

    static func all(for role: Subject) -> [Noise] {
        let own: (Kind, [Value]) = role == .worker ? (.acknowledge, [[[1, 2]]]) : (.receipt, [[[1, 101, 0, .nil]]])
        return [
            garbage("one byte", [[0]]), garbage("an empty part", [[]]), garbage("text", [Array("GET / HTTP/1.1".utf8)]),
            garbage("a long part of zeros", [[UInt8](repeating: 0, count: 4_096)]),
            header("a header of 31 bytes") { Array($0.dropLast()) }, header("a header of 33 bytes") { $0 + [0] },
            header("another magic") { [0x53, 0x4d, 0x56, 0x32] + $0.dropFirst(4) },
            header("wire version 2") { replaced($0, 4, by: 2) }, header("an unknown kind, 99") { replaced($0, 5, by: 99) },
            header("kind 0") { replaced($0, 5, by: 0) },
            Noise(name: "three parts") { $0.frame(.pong).parts + [[0xc0], [0xc0]] },
            body("a body where there is none", .goodbye, [0xc0]), body("MessagePack that is cut off", own.0, [0x91, 0x94, 0x01]),
            body("a body that is cut off", own.0, Array(packed(own.1).dropLast())),
            body("a value more", own.0, packed(own.1 + [.nil, .nil])),
            body("an array of 4,294,967,295 that is not there", own.0, [0xdd, 0xff, 0xff, 0xff, 0xff]),
            body("text of 4 GiB that is not there", .error, [0x94, 0x02, 0xdb, 0xff, 0xff, 0xff, 0xff]),
            body("arrays nested 200 deep", own.0, [UInt8](repeating: 0x91, count: 200) + [0xc0]),
            body("a text for an array", own.0, packed(["text"])), body("a byte that MessagePack does not have", own.0, [0xc1]),
            body("an entry with a field more", own.0, packed([.array([.array((own.1[0][0]?.elements ?? []) + [0, 0, 0])])])),
            body("an ERROR without its text", .error, packed([[1]])),
            body("an ERROR of code 77", .error, packed([[77, "no", 0, 0]])),
            body("a wait that is no number", .error, packed([[5, "no", 0, "soon"]])),
            body("HELLO of the store", .hello, packed([.nil])),
            body("a frame for somebody else", role == .worker ? .receipt : .task, packed([[]])),
            body("ERROR resync, to who has sent nothing", .error, packed([[6, "no", 1, 0]])),
            body("a WELCOME that nobody asked for", .welcome, packed([[.string(Stage.program), 1, 1, 0, 100, 60_000]])),
            body("a REPLY that nobody asked for", .reply, packed([[1, .nil, .nil]])),
        ]
    }

    private static func replaced(_ bytes: [UInt8], _ index: Int, by byte: UInt8) -> [UInt8] {
        var bytes = bytes
        bytes[index] = byte
        return bytes
    }

    private static func garbage(_ name: String, _ parts: [[UInt8]]) -> Noise { Noise(name: name) { _ in parts } }

    /// A GOODBYE whose header is changed, so that who reads it leaves.
    private static func header(_ name: String, _ change: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Noise {
        Noise(name: name) { [change($0.frame(.goodbye).parts[0])] }
    }

    private static func body(_ name: String, _ kind: Kind, _ bytes: [UInt8]) -> Noise {
        Noise(name: name) { [$0.frame(kind).parts[0], bytes] }
    }
}

extension Stage {
    func frame(_ kind: Kind, _ number: Int64 = 0) -> RawFrame { RawFrame(kind, number, timeline: timeline) }
}
