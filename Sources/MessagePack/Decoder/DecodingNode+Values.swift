/// The reading of values that the decoder knows itself.
///
/// All of them begin at the index where the reader stands, at `step` below this node, and leave the reader behind the value.
extension DecodingNode {
    @inline(__always)
    mutating func read<Value>(
        _ expected: String, _ step: PathStep, _ read: (inout MessagePackReader) throws(MessagePackError) -> Value
    ) throws -> Value {
        do { return try read(&reader) } catch { throw failure(error, expected, Value.self, step) }
    }

    @inline(__always)
    mutating func readInteger<T: FixedWidthInteger>(_ type: T.Type, _ step: @autoclosure () -> PathStep) throws -> T {
        do {
            return try reader.readInteger(as: type)
        } catch {
            if isKey, let name = name(at: reader.next), let value = T(name) {
                try reader.skip()
                return value
            }
            throw failure(error, "an integer", type, step())
        }
    }
}
