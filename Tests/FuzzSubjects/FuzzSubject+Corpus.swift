import Foundation

/// Inputs that are kept, in `Corpus/NAME.hex`: one in a line, in hexadecimal digits, after lines of `#` that say what it broke.
extension FuzzSubject {
    /// What `make fuzz` has found worth keeping: inputs that reach another part of a decoder, and those that broke one.
    public func corpus() throws -> [[UInt8]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus/\(name).hex")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
        return try lines.map { line in
            guard let bytes = bytes(of: line) else {
                throw Violation("\(file.path) has a line that is no hexadecimal number: \(line)")
            }
            return bytes
        }
    }

    private func bytes(of line: Substring) -> [UInt8]? {
        let digits = line.compactMap(\.hexDigitValue)
        guard digits.count == line.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
