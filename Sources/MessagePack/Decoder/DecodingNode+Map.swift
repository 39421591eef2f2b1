/// The look-up of keys in a map.
extension DecodingNode {
    struct Entry {
        /// Where the key and the value begin.
        let key: Int
        let value: Int
    }

    /// The number of the pair with this key and where its value begins, or nil if there is none.
    func find(_ key: some CodingKey) throws -> (element: Int, offset: Int)? {
        guard count > 0 else { return nil }
        var name = key.stringValue
        if let entries {
            if index < count, try compareKey(at: entries[index].key, with: &name) { return (index, entries[index].value) }
        } else if index < count, try compareKey(at: next, with: &name) {
            return (index, session.reader.next)
        }
        for (element, entry) in try indexed().enumerated() where try compareKey(at: entry.key, with: &name) {
            return (element, entry.value)
        }
        return nil
    }

    /// The pairs of the map, in their order.
    private func indexed() throws -> [Entry] {
        if let entries { return entries }
        session.reader.next = start
        session.reader.depth = depth + 1
        var entries: [Entry] = []
        // A header can announce as many pairs as half of the bytes: memory is taken as they turn out to be there.
        entries.reserveCapacity(min(count, 64))
        for _ in 0..<count {
            let key = session.reader.next
            try session.reader.skip()
            entries.append(Entry(key: key, value: session.reader.next))
            try session.reader.skip()
        }
        self.entries = entries
        end = session.reader.next
        return entries
    }

    /// The places of all keys. An enum has one, whose value is not passed over to look for another.
    func keys() throws -> [Int] {
        count == 1 ? [start] : try indexed().map(\.key)
    }

    /// Whether a key is this string, or the integer this string is the digits of. Moves the reader behind the key.
    private func compareKey(at offset: Int, with name: inout String) throws -> Bool {
        session.reader.next = offset
        guard try session.reader.peekType() == .string else {
            session.reader.depth = depth + 1
            try session.reader.skip()
            return self.name(at: offset) == name
        }
        let content = try session.reader.stringContent()
        session.reader.next = content.upperBound
        return session.reader.isEqual(content, to: &name)
    }

    /// The key at an index as text, if it is a string or an integer.
    func name(at offset: Int) -> String? {
        var reader = session.reader
        reader.next = offset
        do {
            guard try reader.peekType() == .integer else { return try reader.readString() }
            return try reader.integer(as: Int64.self).map { "\($0)" } ?? "\(reader.readUInt64())"
        } catch {
            // A key of another type, or not UTF-8, is equal to no key that a type can ask for.
            return nil
        }
    }
}

extension MessagePackReader {
    /// Whether the bytes at these indices are the UTF-8 of a text.
    func isEqual(_ content: Range<Int>, to text: inout String) -> Bool {
        text.withUTF8 { $0.count == content.count && $0.elementsEqual(bytes[content]) }
    }
}
