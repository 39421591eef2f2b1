import Logging
import MessagePack
import SamovarCore
import Testing

@testable import SamovarHost

private enum Dial: OpenProgram {
    struct State: Portable { var at = 0 }
    enum Message: Portable { case turn(by: Int, comment: String?) }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Dial> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Dial> { .none }
}

/// As it was written before there were comments.
extension Dial.Message: GeneratedCodable {
    static var generatedForm: String? { "turn(by: Int)" }
    func encode(into writer: inout MessagePackWriter) { writer.beginCase("turn", 0) }
    init(decoding reader: inout MessagePackReader) throws(MessagePackError) { throw reader.notGenerated() }
}

/// Code that `schema --codec` wrote, and types that have changed since.
@Suite struct OutdatedCodeTests {
    @Test func `A store says at its start which codec is out of date`() throws {
        let lines = Lines()
        let logger = Logger(label: "test") { _ in LineHandler(lines: lines) }
        _ = try Store<Dial>(
            StoreConfiguration(dataFolder: "none", endpoint: try Endpoint("ipc:///tmp/none", dataFolder: "none")), logger: logger)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("Dial.Message") == true)
        #expect(
            lines.all.first?.hasSuffix("is of another form, so Codable encodes it, which is slower: see `schema --codec`") == true,
            "\(lines.all)")
    }
}
