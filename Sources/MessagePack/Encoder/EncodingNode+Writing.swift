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
        for index in children.indices { try children[index].node.check() }
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
        withElements { bytes, _ in
            var written = 0
            for index in children.indices {
                let end = children[index].offset
                writer.writeRaw(UnsafeRawBufferPointer(rebasing: bytes[written..<end]))
                children[index].node.write(to: &writer)
                written = end
            }
            writer.writeRaw(UnsafeRawBufferPointer(rebasing: bytes[written...]))
        }
    }

    /// Writes the elements in the order of their bytes. In a map this is the order of the keys: no encoded key is the
    /// beginning of another one.
    private func writeSortedElements(to writer: inout MessagePackWriter) {
        guard !children.isEmpty else { return withElements { writeSorted($0, $1, to: &writer) } }
        let (bytes, starts) = elementsWithChildren()
        bytes.withUnsafeBytes { bytes in starts.withUnsafeBufferPointer { writeSorted(bytes, $0, to: &writer) } }
    }

    private func writeSorted(
        _ bytes: UnsafeRawBufferPointer, _ starts: UnsafeBufferPointer<Int>, to writer: inout MessagePackWriter
    ) {
        func element(_ index: Int) -> Range<Int> {
            starts[index]..<(index + 1 < count ? starts[index + 1] : bytes.count)
        }
        // Most are few, and often in this order.
        let isSorted = !(1..<count).contains { !precedes(element($0 - 1), element($0), in: bytes) }
        guard !isSorted else { return writer.writeRaw(bytes) }
        var order: [Range<Int>] = []
        swap(&order, &session.order)
        order.removeAll(keepingCapacity: true)
        for index in 0..<count { order.append(element(index)) }
        order.sort { precedes($0, $1, in: bytes) }
        for element in order { writer.writeRaw(UnsafeRawBufferPointer(rebasing: bytes[element])) }
        if order.capacity <= 1024 { swap(&order, &session.order) }
    }

    private func precedes(_ first: Range<Int>, _ second: Range<Int>, in bytes: UnsafeRawBufferPointer) -> Bool {
        for offset in 0..<min(first.count, second.count) {
            let one = bytes[first.lowerBound + offset], other = bytes[second.lowerBound + offset]
            if one != other { return one < other }
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
            for index in child.count..<count { starts[index] += writer.count - start }
            written = child.offset
        }
        writer.writeRaw(body.storage[written...])
        return (writer.storage, starts)
    }
}
