/// The reading of values: those the decoder knows itself, and those which decode themselves.
///
/// All of them begin at the index where the reader stands, at `step` below this node, and leave the reader behind the value.
extension DecodingNode {
    func readBool(_ step: @autoclosure () -> PathStep) throws -> Bool {
        do { return try reader.readBool() } catch { throw failure(error, "a boolean", Bool.self, step()) }
    }

    func readString(_ step: @autoclosure () -> PathStep) throws -> String {
        do { return try reader.readString() } catch { throw failure(error, "a string", String.self, step()) }
    }

    func readDouble(_ step: @autoclosure () -> PathStep) throws -> Double {
        do { return try reader.readDouble() } catch { throw failure(error, "a float", Double.self, step()) }
    }

    func readFloat(_ step: @autoclosure () -> PathStep) throws -> Float {
        do { return try reader.readFloat() } catch { throw failure(error, "a float", Float.self, step()) }
    }

    func readBinary(_ step: PathStep) throws -> [UInt8] {
        do { return try reader.readBinary() } catch { throw failure(error, "binary data", [UInt8].self, step) }
    }

    @inline(__always)
    func readInteger<T: FixedWidthInteger>(_ type: T.Type, _ step: @autoclosure () -> PathStep) throws -> T {
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

    /// Decodes a value of any type.
    func decode<T: Decodable>(_ type: T.Type, _ step: PathStep, isKey: Bool = false) throws -> T {
        // Elements of arrays arrive here whatever their type is, and these need no node.
        if type == String.self { return known(try readString(step)) }
        if type == Int.self, !isKey { return known(try readInteger(Int.self, step)) }
        if type == Double.self { return known(try readDouble(step)) }
        if type == Bool.self { return known(try readBool(step)) }
        if type == [UInt8].self, try reader.nextType() != .array { return known(try readBinary(step)) }
        if type == UInt64.self, !isKey { return known(try readInteger(UInt64.self, step)) }
        if type == Int64.self, !isKey { return known(try readInteger(Int64.self, step)) }
        if type == UInt32.self, !isKey { return known(try readInteger(UInt32.self, step)) }
        if type == Int32.self, !isKey { return known(try readInteger(Int32.self, step)) }
        let form = session.form(of: type)
        if case .packable(let direct) = form { return try readDirectly(direct, as: type, step) }

        var node = session.node(below: self, at: reader.next, step: step, subject: type, isKey: isKey)
        defer { session.recycle(&node) }
        let value = try node.decodeValue(form, as: type)
        try node.finish(in: self)
        return value
    }

    /// Decodes the value of this node.
    @inline(__always)
    private func decodeValue<T: Decodable>(_ form: DecodingSession.Form, as type: T.Type) throws -> T {
        guard level <= session.limits.maximumLevel else { throw reader.tooDeep() }
        do {
            let value: T
            if case .dictionary(let dictionary) = form {
                value = try readPairs(dictionary, as: type)
            } else {
                value = try type.init(from: self)
            }
            if isLenient { try refuseUnknownFields() }
            return value
        } catch let error as DecodingError {
            throw explain(error)
        }
    }

    private func readPairs<Dictionary: DecodableDictionary, T>(_ dictionary: Dictionary.Type, as type: T.Type) throws -> T {
        known(try dictionary.init(pairsOf: self))
    }

    /// Lets a value read itself, which must end where the value does.
    private func readDirectly<Direct: MessagePackable, T>(
        _ direct: Direct.Type, as type: T.Type, _ step: PathStep
    ) throws -> T {
        let start = reader.next
        reader.depth = content == .unopened ? depth : depth + 1
        // Also holds off bytes that are too deep from a type which does not count the depth.
        try reader.skip()
        let end = reader.next
        reader.next = start
        do throws(MessagePackError) {
            // By a copy: so the session's reader is never changed by other code, and its accesses need no check at run time.
            var reader = self.reader
            defer { self.reader.next = reader.next }
            let value = try direct.init(from: &reader)
            guard reader.next == end else {
                throw MessagePackError(.invalidValue, "\(direct) did not read one whole value", offset: reader.position)
            }
            return known(value)
        } catch {
            throw refusal(error, direct, step)
        }
    }
}
