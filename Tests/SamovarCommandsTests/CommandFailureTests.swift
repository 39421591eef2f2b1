import Foundation
import MessagePack
import SamovarStore
import SamovarText
import Testing

@testable import SamovarCommands
@testable import SamovarHost

/// How commands end by errors that come from below.
@Suite struct CommandFailureTests {
    @Test func `A capsule or a value that cannot be read is bad data`() {
        let capsule = CommandFailure(CapsuleError("it is a capsule of Other 1\u{1b}"))
        #expect(capsule?.code == .badData && capsule?.description == "it is a capsule of Other 1\\u{1b}")
        let error = #expect(throws: MessagePackError.self) { try MessagePackValue(encoded: [0xc1]) }
        let value = error.flatMap { CommandFailure($0) }
        #expect(value?.code == .badData && value?.description == "0xc1 begins no value (byte 0)")
    }

    @Test func `Of what a store refuses to an operator, only what it may grant later is to be tried later`() {
        let later = CommandFailure(AdminError.later("another backup is being made, up to turn 9: ask again"))
        #expect(later?.code == .tryLater && later?.description == "another backup is being made, up to turn 9: ask again")
        let never = CommandFailure(AdminError.refused("effect 3/0 is not dead"))
        #expect(never?.code == .badData && never?.description == "effect 3/0 is not dead")
    }

    @Test(arguments: [EACCES, EPERM, EROFS])
    func `A key file that the system forbids has the exit code of a data folder that it forbids`(_ number: CInt) {
        let failure = CommandFailure(KeyFileError.system("shop.key", "cannot be opened", number: number))
        #expect(failure?.code == .noPermission)
        #expect(failure?.description == "shop.key cannot be opened: \(String(cString: strerror(number)))")
    }

    @Test func `A key file that is not there is a setting, and one that the disk fails to give is an error of input or output`() {
        let missing = CommandFailure(KeyFileError.system("shop.key", "cannot be opened", number: ENOENT))
        #expect(missing?.code == .configuration && missing?.description == "shop.key cannot be opened: No such file or directory")
        let broken = CommandFailure(KeyFileError.system("shop.key", "cannot be read", number: EIO))
        #expect(broken?.code == .inputOutput && broken?.description == "shop.key cannot be read: Input/output error")
    }

    @Test func `What a failure quotes does nothing to a terminal, and its lines stay lines`() {
        let failure = CommandFailure(.internal, "1/2 failed: \u{1b}[31m\u{1b}]0;pwned\u{7}\r\n  3/4: 5 °C\n")
        #expect(failure.text == "1/2 failed: \\u{1b}[31m\\u{1b}]0;pwned\\u{7}\\u{d}\n  3/4: 5 °C\n")
    }

    @Test func `A terminal that cannot be used is an error of input or output`() {
        let failure = CommandFailure(RawTerminal.Failure(description: "the terminal cannot be written to"))
        #expect(failure?.code == .inputOutput && failure?.description == "the terminal cannot be written to")
    }
}
