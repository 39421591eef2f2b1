/// The end of a node: its header, its elements in order, and those of its children in their places.
extension EncodingNode {
    func write(to writer: inout MessagePackWriter) throws {
        guard !hasConflict else {
            let text = "the value asked for containers of several kinds, or encoded several values in one place"
            throw EncodingError.invalidValue(
                self, EncodingError.Context(codingPath: codingPath, debugDescription: text))
        }
        switch shape {
        case .nothing:
            return writer.writeMapHeader(0)
        case .single:
            return try writeElements(to: &writer)
        case .array, .set:
            writer.writeArrayHeader(count)
        case .map:
            writer.writeMapHeader(count)
        case .dictionary:
            if hasScalarKeys { writer.writeMapHeader(count) } else { writer.writeArrayHeader(2 * count) }
        }
        guard depth < session.limits.maximumDepth else { throw tooDeep() }
        if session.isCanonical, shape != .array, count > 1 {
            try writeSortedElements(to: &writer)
        } else {
            try writeElements(to: &writer)
        }
    }

    func tooDeep() -> MessagePackError {
        let path = codingPath.isEmpty ? "the value" : describe(path: codingPath)
        let message = "\(path) is nested deeper than the limit of \(session.limits.maximumDepth)"
        return MessagePackError(.tooDeep, message, offset: 0)
    }

    func tooLarge(_ count: Int) -> MessagePackError {
        let message = "\(count) bytes are more than the limit of \(session.limits.maximumBytes)"
        return MessagePackError(.tooLarge, message, offset: 0)
    }

    private func writeElements(to writer: inout MessagePackWriter) throws {
        var written = 0
        for child in children {
            writer.writeRaw(body.storage[written..<child.offset])
            try child.node.write(to: &writer)
            written = child.offset
        }
        writer.writeRaw(body.storage[written...])
    }

    /// Writes the elements in the order of their bytes. In a map this is the order of the keys: no encoded key is the
    /// beginning of another one.
    private func writeSortedElements(to writer: inout MessagePackWriter) throws {
        let (bytes, starts) = try elementsWithChildren()
        let ends = starts.dropFirst() + [bytes.count]
        let elements = zip(starts, ends).map { bytes[$0..<$1] }
        for element in elements.sorted(by: { $0.lexicographicallyPrecedes($1) }) { writer.writeRaw(element) }
    }

    private func elementsWithChildren() throws -> (bytes: [UInt8], starts: [Int]) {
        guard !children.isEmpty else { return (body.storage, starts) }
        var writer = MessagePackWriter()
        var starts = starts
        var written = 0
        for child in children {
            writer.writeRaw(body.storage[written..<child.offset])
            let start = writer.count
            try child.node.write(to: &writer)
            for index in child.count..<starts.count { starts[index] += writer.count - start }
            written = child.offset
        }
        writer.writeRaw(body.storage[written...])
        return (writer.storage, starts)
    }
}
