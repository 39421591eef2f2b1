import MessagePack
import Testing

@testable import SamovarWire
@Suite struct MessageListTests {
    @Test(arguments: [[], [[1]], [[1], [2, 3]], [[], []]] as [[[UInt8]]])
    func `The messages of an answer come back in order`(messages: [[UInt8]]) throws {
        let list = MessageList(messages)
        #expect(list.map { Array($0) } == messages)
        var writer = MessagePackWriter()
        JobResult.Answer.done(list).write(to: &writer)
        var reader = MessagePackReader(writer.bytes)
        #expect(try JobResult.Answer(from: &reader) == .done(list))
        #expect(reader.isAtEnd)
    }

    @Test func `Only a list of one has an only message`() {
    }

    @Test func `A message is equal to another with the same bytes, wherever each of them stands`() {
        let frame: [UInt8] = [9, 9, 1, 2, 9]
        #expect(MessageList(frame[2..<4]) == [[1, 2]])
        #expect(MessageList(frame[1..<4]) != [[1, 2]])
    }
}
