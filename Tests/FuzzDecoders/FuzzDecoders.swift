import CFuzzer
import Foundation
import FuzzSubjects

/// Lets libFuzzer try one decoder: `FuzzDecoders SUBJECT FOLDER [-max_total_time=60]`. It writes what it finds into the folder, which
/// begins with the subject's examples and corpus. Without arguments it lists the subjects. Built by `make fuzz` and by nothing else.
@main
struct FuzzDecoders {
    nonisolated(unsafe) private static var subject = FuzzSubject.all[0]

    static func main() throws {
        guard CommandLine.arguments.count > 2, let chosen = FuzzSubject.named(CommandLine.arguments[1]) else {
            print(FuzzSubject.all.map(\.name).joined(separator: "\n"))
            return
        }
        subject = chosen
        for (index, input) in try (chosen.examples() + chosen.corpus()).enumerated() {
            try Data(input).write(to: URL(filePath: "\(CommandLine.arguments[2])/kept-\(index)"))
        }
        var arguments = ([CommandLine.arguments[0]] + CommandLine.arguments.dropFirst(2)).map { strdup($0) } + [nil]
        var count = CInt(arguments.count - 1)
        let status = arguments.withUnsafeMutableBufferPointer { buffer in
            var list = buffer.baseAddress
            return LLVMFuzzerRunDriver(&count, &list) { start, count in
                let bytes = Array(UnsafeBufferPointer(start: start, count: count))
                do {
                    _ = try FuzzDecoders.subject.read(bytes)
                } catch {
                    // libFuzzer knows a finding by the death of the process.
                    fatalError("\(error)")
                }
                return 0
            }
        }
        exit(status)
    }
}
