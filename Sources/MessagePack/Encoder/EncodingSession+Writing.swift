/// The end of a node: its header, its elements in order, and those of its children in their places.
extension EncodingSession {
    /// Finds what keeps it from being written, as long as the path to it can be told.
    func check(_ node: EncodingNode.Slot) throws {
        guard !node.pointee.hasConflict else {
            let text = "the value asked for containers of several kinds, or encoded several values in one place"
            throw EncodingError.invalidValue(
                place(of: node), EncodingError.Context(codingPath: node.pointee.codingPath, debugDescription: text))
        }
        switch node.pointee.shape {
        case .nothing, .single: break
        default: if node.pointee.depth >= limits.maximumDepth { throw tooDeep(node) }
        }
        guard !node.pointee.children.isEmpty else { return }
        for index in node.pointee.children.indices { try check(node.pointee.children[index].node) }
    }

    /// Writes what ``check(_:)`` found nothing against.
    func write(_ node: EncodingNode.Slot, to writer: inout MessagePackWriter) {
        let count = node.pointee.count
        switch node.pointee.shape {
        case .nothing:
            return writer.writeMapHeader(0)
        case .single:
            return writeElements(of: node, to: &writer)
        case .array, .set:
            writer.writeArrayHeader(count)
        case .map:
            writer.writeMapHeader(count)
        case .dictionary:
            if node.pointee.hasScalarKeys { writer.writeMapHeader(count) } else { writer.writeArrayHeader(2 * count) }
        }
        if encoder.isCanonical, node.pointee.shape != .array, count > 1, encoder.sortsFields || node.pointee.shape != .map {
            writeSortedElements(of: node, to: &writer)
        } else {
            writeElements(of: node, to: &writer)
        }
    }

    func tooDeep(_ node: EncodingNode.Slot) -> MessagePackError {
        let path = node.pointee.codingPath
        let message =
            "\(path.isEmpty ? "the value" : describe(path: path)) is nested deeper than the limit of \(limits.maximumDepth)"
        return MessagePackError(.tooDeep, message, offset: 0)
    }

    func tooLarge(_ count: Int) -> MessagePackError {
        let message = "\(count) bytes are more than the limit of \(limits.maximumBytes)"
        return MessagePackError(.tooLarge, message, offset: 0)
    }

    /// - Parameter wrote: hears of each child, and of how many bytes it takes.
    private func writeElements(
        of node: EncodingNode.Slot, to writer: inout MessagePackWriter, wrote: (EncodingNode.Child, Int) -> Void = { _, _ in }
    ) {
        let hasChildren = !node.pointee.children.isEmpty
        node.pointee.withElements { bytes in
            guard hasChildren else { return writer.writeRaw(bytes) }
            var written = 0
            for index in node.pointee.children.indices {
                let child = node.pointee.children[index]
                writer.writeRaw(UnsafeRawBufferPointer(rebasing: bytes[written..<child.offset]))
                let start = writer.count
                write(child.node, to: &writer)
                wrote(child, writer.count - start)
                written = child.offset
            }
            writer.writeRaw(UnsafeRawBufferPointer(rebasing: bytes[written...]))
        }
    }

    /// Writes the elements in the order of their bytes. In a map this is the order of the keys: no encoded key is the
    /// beginning of another one.
    private func writeSortedElements(of node: EncodingNode.Slot, to writer: inout MessagePackWriter) {
        guard !node.pointee.children.isEmpty else {
            return node.pointee.withElements { writeSorted($0, $1, node.pointee.count, to: &writer) }
        }
        var elements = MessagePackWriter(reserving: node.pointee.body.count + 64 * node.pointee.children.count)
        var starts = node.pointee.starts
        writeElements(of: node, to: &elements) { child, size in
            for index in child.count..<node.pointee.count { starts[index] += size }
        }
        elements.storage.withUnsafeBytes { bytes in
            starts.withUnsafeBufferPointer { writeSorted(bytes, $0, node.pointee.count, to: &writer) }
        }
    }

    private func writeSorted(
        _ bytes: UnsafeRawBufferPointer, _ starts: UnsafeBufferPointer<Int>, _ count: Int, to writer: inout MessagePackWriter
    ) {
        func element(_ index: Int) -> Range<Int> {
            starts[index]..<(index + 1 < count ? starts[index + 1] : bytes.count)
        }
        // Most are few, and often in this order.
        let isSorted = !(1..<count).contains { !precedes(element($0 - 1), element($0), in: bytes) }
        guard !isSorted else { return writer.writeRaw(bytes) }
        var order: [Range<Int>] = []
        swap(&order, &self.order.value)
        order.removeAll(keepingCapacity: true)
        for index in 0..<count { order.append(element(index)) }
        order.sort { precedes($0, $1, in: bytes) }
        // What is large has room at once: to grow would take as much again for as long as it is moved.
        if bytes.count >= 1 << 20, bytes.count > writer.count { writer.storage.reserveCapacity(writer.count + bytes.count) }
        for element in order { writer.writeRaw(UnsafeRawBufferPointer(rebasing: bytes[element])) }
        if order.capacity <= 1024 { swap(&order, &self.order.value) }
    }

    private func precedes(_ first: Range<Int>, _ second: Range<Int>, in bytes: UnsafeRawBufferPointer) -> Bool {
        for offset in 0..<min(first.count, second.count) {
            let one = bytes[first.lowerBound + offset], other = bytes[second.lowerBound + offset]
            if one != other { return one < other }
        }
        return first.count < second.count
    }
}
