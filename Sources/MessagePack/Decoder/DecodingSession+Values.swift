/// The decoding of values of any type. They begin where the reader of a node stands, at `step` below it, and leave the reader behind the value.
extension DecodingSession {
    func decode<T: Decodable>(_ type: T.Type, _ above: DecodingNode.Slot, _ step: PathStep, isKey: Bool = false) throws -> T {
        // Elements of arrays arrive here whatever their type is, and these need no node.
        if type == String.self {
            return known(try above.pointee.read("a string", step) { reader throws(MessagePackError) in try reader.readString() })
        }
        if type == Int.self, !isKey { return known(try above.pointee.readInteger(Int.self, step)) }
        if type == Double.self {
            return known(try above.pointee.read("a float", step) { reader throws(MessagePackError) in try reader.readDouble() })
        }
        if type == Bool.self {
            return known(try above.pointee.read("a boolean", step) { reader throws(MessagePackError) in try reader.readBool() })
        }
        if type == [UInt8].self, try above.pointee.reader.nextType() != .array {
            return known(try above.pointee.read("binary data", step) { reader throws(MessagePackError) in try reader.readBinary() })
        }
        if type == UInt64.self, !isKey { return known(try above.pointee.readInteger(UInt64.self, step)) }
        if type == Int64.self, !isKey { return known(try above.pointee.readInteger(Int64.self, step)) }
        if type == UInt32.self, !isKey { return known(try above.pointee.readInteger(UInt32.self, step)) }
        if type == Int32.self, !isKey { return known(try above.pointee.readInteger(Int32.self, step)) }
        if type == Float.self {
            return known(try above.pointee.read("a float", step) { reader throws(MessagePackError) in try reader.readFloat() })
        }
        let form = form(of: type)
        if case .packable(let direct) = form { return try readDirectly(direct, as: type, above, step) }

        let node = node(below: above, at: above.pointee.reader.next, step: step, subject: type, isKey: isKey)
        defer { recycle(node) }
        let value = try decodeValue(form, as: type, node)
        try node.pointee.finish(in: above)
        return value
    }

    @inline(__always)
    private func decodeValue<T: Decodable>(_ form: Form, as type: T.Type, _ node: DecodingNode.Slot) throws -> T {
        guard node.pointee.level <= limits.maximumLevel else { throw node.pointee.reader.tooDeep() }
        do {
            let value: T
            if case .dictionary(let dictionary) = form {
                value = try readPairs(dictionary, as: type, node)
            } else {
                value = try type.init(from: place(of: node))
            }
            if refusesUnknownFields { try refuseUnknownFields(node) }
            return value
        } catch let error as DecodingError {
            throw node.pointee.explain(error)
        }
    }

    private func readPairs<Dictionary: DecodableDictionary, T>(
        _ dictionary: Dictionary.Type, as type: T.Type, _ node: DecodingNode.Slot
    ) throws -> T {
        known(try dictionary.init(pairsOf: node, of: self))
    }

    /// Lets a value read itself, which must end where the value does.
    private func readDirectly<Direct: MessagePackable, T>(
        _ direct: Direct.Type, as type: T.Type, _ node: DecodingNode.Slot, _ step: PathStep
    ) throws -> T {
        let start = node.pointee.reader.next
        node.pointee.reader.depth = node.pointee.content == .unopened ? node.pointee.depth : node.pointee.depth + 1
        // Also holds off bytes that are too deep from a type which does not count the depth.
        try node.pointee.reader.skip()
        let end = node.pointee.reader.next
        node.pointee.reader.next = start
        do throws(MessagePackError) {
            // By a copy: so the session's reader is never changed by other code.
            var reader = node.pointee.reader
            defer { node.pointee.reader.next = reader.next }
            let value = try direct.init(from: &reader)
            guard reader.next == end else {
                throw MessagePackError(.invalidValue, "\(direct) did not read one whole value", offset: reader.position)
            }
            return known(value)
        } catch {
            throw node.pointee.refusal(error, direct, step)
        }
    }

    /// Refuses a field which is a key of no container that was asked for.
    func refuseUnknownFields(_ node: DecodingNode.Slot) throws {
        guard node.pointee.content == .map, let keyType = node.pointee.keyType, !node.pointee.knowsAllKeys else { return }
        if node.pointee.count == 1, hasOnly(keyType, node) { return }
        try node.pointee.refuseUnknownFields()
    }
}
