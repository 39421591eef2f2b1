/// The end of a node: its header, its elements in order, and those of its children in their places.
extension EncodingNode {
    /// Finds what keeps it from being written, as long as the path to it can be told.
    func check() throws {
        guard !hasConflict else {
            let text = "the value asked for containers of several kinds, or encoded several values in one place"
            throw EncodingError.invalidValue(
                self, EncodingError.Context(codingPath: codingPath, debugDescription: text))
        }
        if shape != .nothing, shape != .single, depth >= session.limits.maximumDepth { throw tooDeep() }
        for child in children { try child.node.check() }
    }

    /// Writes what ``check()`` found nothing against.
    func write(to writer: inout MessagePackWriter) {
        switch shape {
        case .nothing:
            return writer.writeMapHeader(0)
        case .single:
            return writeElements(to: &writer)
        case .array, .set:
            writer.writeArrayHeader(count)
        case .map:
            writer.writeMapHeader(count)
        case .dictionary:
            if hasScalarKeys { writer.writeMapHeader(count) } else { writer.writeArrayHeader(2 * count) }
        }
        if session.isCanonical, shape != .array, count > 1 {
            writeSortedElements(to: &writer)
        } else {
            writeElements(to: &writer)
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

    private func writeElements(to writer: inout MessagePackWriter) {
        guard !children.isEmpty else { return writer.writeRaw(body.storage) }
        var written = 0
        for child in children {
            writer.writeRaw(body.storage[written..<child.offset])
            child.node.write(to: &writer)
            written = child.offset
        }
        writer.writeRaw(body.storage[written...])
    }

    /// Writes the elements in the order of their bytes. In a map this is the order of the keys: no encoded key is the
    /// beginning of another one.
    private func writeSortedElements(to writer: inout MessagePackWriter) {
        guard !children.isEmpty else { return writeSorted(body.storage, starts, to: &writer) }
        let (bytes, starts) = elementsWithChildren()
        writeSorted(bytes, starts, to: &writer)
    }

    private func writeSorted(_ bytes: [UInt8], _ starts: [Int], to writer: inout MessagePackWriter) {
        var order: [Range<Int>] = []
        swap(&order, &session.order)
        order.removeAll(keepingCapacity: true)
        for index in starts.indices {
            order.append(starts[index]..<(index + 1 < starts.count ? starts[index + 1] : bytes.count))
        }
        bytes.withUnsafeBufferPointer { bytes in
            order.sort { precedes(bytes[$0], bytes[$1]) }
            for element in order { writer.writeRaw(UnsafeBufferPointer(rebasing: bytes[element])) }
        }
        if order.capacity <= 1024 { swap(&order, &session.order) }
    }

    private func precedes(_ first: Slice<UnsafeBufferPointer<UInt8>>, _ second: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let first = UnsafeBufferPointer(rebasing: first), second = UnsafeBufferPointer(rebasing: second)
        for index in 0..<min(first.count, second.count) where first[index] != second[index] {
            return first[index] < second[index]
        }
        return first.count < second.count
    }

    private func elementsWithChildren() -> (bytes: [UInt8], starts: [Int]) {
        var writer = MessagePackWriter(reserving: body.count + 64 * children.count)
        var starts = starts
        var written = 0
        for child in children {
            writer.writeRaw(body.storage[written..<child.offset])
            let start = writer.count
            child.node.write(to: &writer)
            for index in child.count..<starts.count { starts[index] += writer.count - start }
            written = child.offset
        }
        writer.writeRaw(body.storage[written...])
        return (writer.storage, starts)
    }
}
