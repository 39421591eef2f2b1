import MessagePack
import SamovarCore
import Testing

@testable import SamovarWire
@Suite struct MalformedTests {
    private func header(_ kind: FrameKind) -> [UInt8] {
        FrameHeader(kind, timeline: .zero, number: 0).bytes
    }

    private func body(_ write: (inout MessagePackWriter) -> Void) -> [UInt8] {
        var writer = MessagePackWriter()
        write(&writer)
        return writer.bytes
    }

    /// What the reader says of these parts.
    private func text(_ parts: [[UInt8]]) -> String {
        do {
            return "read \(try Envelope(parts: parts).frame)"
        } catch {
            return error.description
        }
    }

    private func text(_ kind: FrameKind, _ write: (inout MessagePackWriter) -> Void) -> String {
        text([header(kind), body(write)])
    }

    // MARK: Parts and header

    @Test func `No parts and too many parts`() {
        #expect(text([]) == "malformed frame: 0 parts; a frame has a header and at most one body")
        #expect(
            text([header(.ping), [], []]) == "malformed frame: 3 parts; a frame has a header and at most one body")
    }

    @Test func `A header of another length`() {
        #expect(text([[]]) == "malformed frame: a header has 32 bytes, not 0")
        #expect(text([header(.ping) + [0]]) == "malformed frame: a header has 32 bytes, not 33")
    }

    @Test func `Another magic`() {
        var bytes = header(.ping)
        bytes[3] = 0x32
        #expect(throws: WireError.foreign) { try Envelope(parts: [bytes]) }
        #expect(text([bytes]) == "not a Samovar frame")
    }

    @Test func `Another wire version`() {
        var bytes = header(.ping)
        bytes[4] = 2
        #expect(throws: WireError.version(2)) { try Envelope(parts: [bytes]) }
        #expect(text([bytes]) == "wire version 2; this build speaks 1")
    }

    @Test func `An unknown kind`() {
        var bytes = header(.ping)
        bytes[5] = 99
        #expect(text([bytes]) == "malformed frame: unknown kind 99")
    }

    @Test func `Reserved bytes are not looked at`() throws {
        var bytes = header(.goodbye)
        bytes[6] = 1
        bytes[7] = 2
        #expect(try Envelope(parts: [bytes]).frame == .goodbye)
    }

    // MARK: Bodies

    @Test func `A body where none belongs`() {
        #expect(text(.ping) { $0.writeNil() } == "malformed frame: ping has bytes after its end")
    }

    @Test func `Anything but a proof after the body`() {
        let head = "malformed frame: "
        #expect(text(.pong) { $0.write(7) } != "read pong(0)")
        let one = text(.pong) {
            $0.writeArrayHeader(1)
            $0.write(7)
        }
        #expect(one == head + "the proof of a turn has 2 fields, not 1")
        let proof = TurnProof(turn: 1, code: 2)
        for (kind, isRead) in [(FrameKind.pong, true), (.ping, false), (.goodbye, false), (.drain, false)] {
            let frame = text(kind) {
                $0.writeArrayHeader(2)
                $0.write(proof.turn)
                $0.write(proof.code)
            }
            #expect(frame.hasPrefix("read") == isRead, "\(frame)")
        }
        let two = text(.pong) {
            for _ in 0..<2 {
                $0.writeArrayHeader(2)
                $0.write(1)
                $0.write(2)
            }
        }
        #expect(two == head + "pong has bytes after its end")
    }

    @Test func `Bytes after the body`() {
        #expect(
            text(.waiting) {
                $0.write("a queue")
                $0.writeNil()
            } == "malformed frame: waiting has bytes after its end")
    }

    @Test func `No body where one belongs`() {
        #expect(text([header(.hello)]).hasPrefix("malformed frame: hello: "))
        #expect(text([header(.view)]).hasPrefix("malformed frame: view: "))
    }

    @Test func `Another type than the right one`() {
        #expect(text(.send) { $0.write("text") }.hasPrefix("malformed frame: send: expected an array"))
    }

    @Test(arguments: [FrameKind.hello, .welcome, .error, .request, .reply])
    func `Another number of fields`(_ kind: FrameKind) {
        let text = text(kind) { $0.writeArrayHeader(0) }
        #expect(text.hasSuffix(" fields, not 0"), "\(text)")
    }

    @Test(arguments: [FrameKind.send, .receipt, .task, .result, .acknowledge, .cancel])
    func `Another number of fields in an entry`(_ kind: FrameKind) {
        let text = text(kind) {
            $0.writeArrayHeader(1)
            $0.writeArrayHeader(0)
        }
        #expect(text.hasSuffix(" fields, not 0"), "\(text)")
    }

    @Test func `An unknown role`() {
        #expect(
            text(.hello) {
                $0.writeArrayHeader(4)
                $0.writeNil()
                $0.write(0)
                $0.write("king")
                $0.writeNil()
            } == "malformed frame: unknown role king")
    }

    @Test func `An identity of another length`() {
        #expect(
            text(.hello) {
                $0.writeArrayHeader(4)
                $0.writeNil()
                $0.write(0)
                $0.write("client")
                $0.writeBinary([1, 2, 3])
            } == "malformed frame: an identity of 3 bytes, not 16")
    }

    @Test(arguments: [0, -1, 65_537])
    func `Slots out of range`(_ slots: Int) {
        #expect(
            text(.hello) {
                $0.writeArrayHeader(4)
                $0.writeNil()
                $0.write(0)
                $0.write("worker")
                $0.writeArrayHeader(4)
                $0.writeBinary([UInt8](repeating: 1, count: 16))
                $0.write(slots)
                $0.writeArrayHeader(0)
                $0.writeArrayHeader(0)
            } == "malformed frame: \(slots) slots; \(slots < 1 ? "1 at least" : "65536 at most")")
    }

    @Test func `A worker's capabilities`() {
        for good in [["gpu", "gpu"], (1...64).map { "\($0)" }, []] { #expect(offer(good).hasPrefix("read ")) }
        #expect(offer((0...64).map { "\($0)" }) == "malformed frame: 65 capabilities; 64 at most")
        let long = String(repeating: "x", count: 129)
        #expect(offer([long]) == "malformed frame: the name of a capability has 129 bytes; 128 at most")
        #expect(offer([], fields: 6) == "malformed frame: a worker's offer has 4 or 5 fields, not 6")
        #expect(offer([], fields: 3) == "malformed frame: a worker's offer has 4 or 5 fields, not 3")
    }

    private func offer(_ capabilities: [String], fields: Int = 5) -> String {
        text(.hello) { writer in
            writer.writeArrayHeader(4)
            writer.writeNil()
            writer.write(0)
            writer.write("worker")
            writer.writeArrayHeader(fields)
            writer.writeBinary([UInt8](repeating: 1, count: 16))
            writer.write(1)
            for _ in 0..<2 { writer.writeArrayHeader(0) }
            writer.writeArrayHeader(capabilities.count)
            for capability in capabilities { writer.write(capability) }
        }
    }

    @Test func `An unknown error code`() {
        #expect(
            text(.error) {
                $0.writeArrayHeader(4)
                $0.write(99)
                $0.write("")
                $0.write(0)
                $0.write(0)
            } == "malformed frame: unknown error code 99")
    }

    @Test func `An instance key that is too long`() {
        #expect(
            text(.viewRequest) { $0.write(String(repeating: "x", count: 129)) }
                == "malformed frame: an instance key of 129 bytes; 128 at most")
    }

    @Test func `An unknown verdict`() {
        #expect(outcome(verdict: 3) == "malformed frame: unknown verdict 3")
        #expect(outcome(verdict: 0) == "malformed frame: an applied outcome carries nothing")
    }

    private func outcome(verdict: Int) -> String {
        text(.receipt) {
            $0.writeArrayHeader(1)
            $0.writeArrayHeader(4)
            $0.write(1)
            $0.write(1)
            $0.write(verdict)
            $0.write("something")
        }
    }

    @Test func `An unknown answer`() {
        #expect(answer(4) { $0.writeNil() } == "malformed frame: unknown answer 4")
        #expect(answer(2) { $0.write(1) } == "malformed frame: a returned job carries nothing")
        #expect(
            answer(1) {
                $0.writeArrayHeader(3)
                $0.write("bored")
                $0.write("")
                $0.write(false)
            } == "malformed frame: unknown reason bored")
    }

    private func answer(_ number: Int, _ write: (inout MessagePackWriter) -> Void) -> String {
        text(.result) {
            $0.writeArrayHeader(1)
            $0.writeArrayHeader(6)
            $0.write(1)
            $0.write(0)
            $0.writeArrayHeader(2)
            $0.write(1)
            $0.write(1)
            $0.write(0)
            $0.write(number)
            write(&$0)
        }
    }

    @Test func `A count that promises too much`() {
        #expect(text([header(.cancel), [0xdd, 0xff, 0xff, 0xff, 0xff]]).hasPrefix("malformed frame: cancel: "))
    }

    @Test func `A text that is not UTF 8`() {
        #expect(text([header(.waiting), [0xa2, 0xff, 0xfe]]).hasPrefix("malformed frame: waiting: a string is not UTF-8"))
    }
}
