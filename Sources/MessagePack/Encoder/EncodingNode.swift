/// One value in the making.
///
/// MessagePack announces how many elements follow, which `Codable` tells only by its last call. So a node collects the
/// elements, and when its value returns, its session writes the header and the elements to the node above. Containers that a value
/// nests by hand (`nestedContainer`, `superEncoder`) may be filled in any order; they are nodes of their own which remember
/// the place where their bytes belong.
struct EncodingNode: PooledNode, ~Copyable {
    typealias Slot = UnsafeMutablePointer<EncodingNode>
    typealias Place = NodePlace<EncodingSession, EncodingNode>

    enum Shape: Equatable { case nothing, single, array, set, map, dictionary }

    struct Child {
        /// Where it belongs in the body of its parent.
        let offset: Int
        /// How many elements the parent had with it.
        let count: Int
        let node: Slot
    }

    let isCanonical: Bool
    let floats: FloatForm
    private(set) var above: Slot?
    private(set) var step = PathStep.same
    /// How many values contain this one.
    private(set) var level = 0
    /// How many arrays and maps contain this one.
    private(set) var depth = 0

    private(set) var shape = Shape.single
    /// Whether the value asked for containers that exclude each other.
    private(set) var hasConflict = false
    /// Whether all keys of a dictionary are strings or integers.
    private(set) var hasScalarKeys = true
    private(set) var count = 0
    var body = MessagePackWriter()
    /// Where each of the `count` elements begins; kept only in canonical mode.
    var starts: [Int] = []
    var children: [Child] = []
    var loans = NodeLoans<EncodingSession, EncodingNode>()

    /// A root, below which the value given to the encoder is encoded.
    init(_ encoder: MessagePackEncoder) {
        isCanonical = encoder.isCanonical
        floats = encoder.floats
    }

    /// Starts over as the node of another value.
    mutating func begin(below parent: Slot, at step: PathStep) {
        above = parent
        self.step = step
        level = parent.pointee.level + 1
        depth = parent.pointee.shape == .single ? parent.pointee.depth : parent.pointee.depth + 1
        shape = .nothing
        hasConflict = false
        hasScalarKeys = true
        loans.isActive = true
        count = 0
        if body.count > 0 { body.removeAll() }
    }

    /// Whether something may keep it from being written.
    func needsCheck(_ limits: MessagePackLimits) -> Bool { hasConflict || depth >= limits.maximumDepth || !children.isEmpty }

    /// How many bytes it keeps for itself.
    var capacity: Int { max(body.storage.capacity, starts.capacity * MemoryLayout<Int>.stride) }

    /// Lets go of the memory for its elements.
    mutating func shrink() {
        body = MessagePackWriter()
        starts = []
    }

    var codingPath: [any CodingKey] {
        var path = above?.pointee.codingPath ?? []
        if let key = step.codingKey(in: above?.pointee.body.storage[...] ?? []) { path.append(key) }
        return path
    }

    // MARK: Elements

    mutating func begin(_ shape: Shape) {
        if self.shape == .nothing {
            self.shape = shape
        } else if self.shape != shape, !(self.shape == .set && shape == .array) {
            hasConflict = true
        }
    }

    /// Begins the one value of a single value container. A second one replaces the first.
    mutating func beginSingle() {
        begin(.single)
        if body.count > 0 { body.removeAll() }
    }

    mutating func beginElement() {
        if isCanonical { if count < starts.count { starts[count] = body.count } else { starts.append(body.count) } }
        count += 1
    }

    mutating func beginPair(_ name: String) {
        beginElement()
        body.write(name)
    }

    /// Takes back the newest element, of which this is the start.
    mutating func removeElement(from start: Int) {
        body.storage.removeSubrange(start...)
        count -= 1
    }

    /// Notes of what kind the key is that was appended from here on: one that is neither string nor integer makes an array of the whole.
    mutating func noteKey(from start: Int) {
        switch MessagePackType(firstByte: body.storage[start]) {
        case .string, .integer: break
        default: hasScalarKeys = false
        }
    }

    // MARK: Values

    /// Appends a value that needs no node of its own, or says that it is none of those. Where the type is known when this is compiled,
    /// nothing is asked.
    @inline(__always)
    mutating func appendScalar<T>(_ value: T) -> Bool {
        if let value = same(value, as: String.self) {
            body.write(value)
        } else if let value = same(value, as: Int.self) {
            append(value)
        } else if let value = same(value, as: Double.self) {
            body.write(value.written(as: floats))
        } else if let value = same(value, as: Bool.self) {
            body.write(value)
        } else if let value = same(value, as: [UInt8].self) {
            body.writeBinary(value)
        } else if let value = same(value, as: UInt64.self) {
            append(value)
        } else if let value = same(value, as: Int64.self) {
            append(value)
        } else if let value = same(value, as: UInt32.self) {
            append(value)
        } else if let value = same(value, as: Int32.self) {
            append(value)
        } else if let value = same(value, as: Float.self) {
            body.write(value.written(as: floats))
        } else {
            return false
        }
        return true
    }

    @inline(__always)
    mutating func append(_ value: some FixedWidthInteger) {
        if let value = Int64(exactly: value) {
            body.write(value)
        } else {
            body.write(UInt64(truncatingIfNeeded: value))
        }
    }

    /// While other code appends to the body, or reads it, it is not in the node: what could be replaced there would be counted.
    mutating func takeBody() -> MessagePackWriter {
        var writer = MessagePackWriter()
        swap(&body, &writer)
        return writer
    }

    @inline(__always)
    mutating func withElements(_ read: (UnsafeRawBufferPointer) -> Void) {
        var writer = takeBody()
        writer.storage.withUnsafeBytes(read)
        swap(&body, &writer)
    }

    /// Calls `read` with the bytes of the elements, and with where each begins.
    @inline(__always)
    mutating func withElements(_ read: (UnsafeRawBufferPointer, UnsafeBufferPointer<Int>) -> Void) {
        var starts: [Int] = []
        swap(&starts, &self.starts)
        withElements { bytes in starts.withUnsafeBufferPointer { read(bytes, $0) } }
        swap(&starts, &self.starts)
    }
}
