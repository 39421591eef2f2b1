/// The reading of values that the decoder knows itself.
///
/// All of them begin at the index where the reader stands, at `step` below this node, and leave the reader behind the value.
extension DecodingNode {
    mutating func readBool(_ step: @autoclosure () -> PathStep) throws -> Bool {
        do { return try reader.readBool() } catch { throw failure(error, "a boolean", Bool.self, step()) }
    }

    mutating func readString(_ step: @autoclosure () -> PathStep) throws -> String {
        do { return try reader.readString() } catch { throw failure(error, "a string", String.self, step()) }
    }

    mutating func readDouble(_ step: @autoclosure () -> PathStep) throws -> Double {
        do { return try reader.readDouble() } catch { throw failure(error, "a float", Double.self, step()) }
    }

    mutating func readFloat(_ step: @autoclosure () -> PathStep) throws -> Float {
        do { return try reader.readFloat() } catch { throw failure(error, "a float", Float.self, step()) }
    }

    mutating func readBinary(_ step: PathStep) throws -> [UInt8] {
        do { return try reader.readBinary() } catch { throw failure(error, "binary data", [UInt8].self, step) }
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
