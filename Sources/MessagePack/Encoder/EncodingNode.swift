/// One value in the making: the `Encoder` its `encode(to:)` gets.
///
/// MessagePack announces how many elements follow, which `Codable` tells only by its last call. So a node collects the
/// elements, and when its value returns, writes the header and the elements to the node above. Containers that a value
/// nests by hand (`nestedContainer`, `superEncoder`) may be filled in any order; they are nodes of their own which remember
/// the place where their bytes belong.
///
/// During an access to what it holds, no code of a value runs but `write(to:)`, which has the body and nothing else. So none is
/// checked at run time for overlapping another.
final class EncodingNode: PooledNode {
    enum Shape: Equatable { case nothing, single, array, set, map, dictionary }

    struct Child {
        /// Where it belongs in the body of its parent.
        let offset: Int
        /// How many elements the parent had with it.
        let count: Int
        var node: EncodingNode
    }

    let session: EncodingSession
    var above: EncodingNode?
    private var step = PathStep.same
    /// How many values contain this one.
    private var level = 0
    /// How many arrays and maps contain this one.
    private(set) var depth = 0

    private(set) var shape: Shape
    /// Whether the value asked for containers that exclude each other.
    private(set) var hasConflict = false
    /// Whether all keys of a dictionary are strings or integers.
    private(set) var hasScalarKeys = true
    private(set) var count = 0
    @exclusivity(unchecked) private(set) var body = MessagePackWriter()
    /// Where each of the `count` elements begins; kept only in canonical mode.
    @exclusivity(unchecked) private(set) var starts: [Int] = []
    @exclusivity(unchecked) private(set) var children: [Child] = []
    /// The keyed containers that it has handed out and takes back.
    @exclusivity(unchecked) private var containers: ContainerPool<EncodingNode>.Reference?
    /// Whether its value is being encoded. Afterwards the value may still have it: what it then hands out, nobody takes back.
    private var isActive = false

    /// Makes the root, below which the value given to the encoder is encoded.
    init(session: EncodingSession) {
        self.session = session
        shape = .single
    }

    /// Starts over as the node of another value.
    func begin(below parent: EncodingNode, at step: PathStep) {
        above = parent
        self.step = step
        level = parent.level + 1
        depth = parent.shape == .single ? parent.depth : parent.depth + 1
        shape = .nothing
        hasConflict = false
        hasScalarKeys = true
        isActive = true
        count = 0
        body.removeAll()
    }

    /// Takes back what it has handed out, which the value may still have.
    func close() {
        isActive = false
        if !children.isEmpty { recycleChildren() }
        if containers != nil { session.containers.takeBack(&containers) }
    }

    private func recycleChildren() {
        while var child = children.popLast() { session.recycle(&child.node) }
    }

    var capacity: Int { max(body.storage.capacity, starts.capacity * MemoryLayout<Int>.stride) }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var node: EncodingNode? = self
        while let current = node {
            let parent = current.above
            if let key = current.step.codingKey(in: parent?.body.storage[...] ?? []) { path.append(key) }
            node = parent
        }
        return path.reversed()
    }

    /// Appends the value given to the encoder to what the root's body holds, or nothing if it throws.
    func appendRoot<T: Encodable>(_ value: T) throws {
        let start = body.count
        do {
            try append(value, at: .same)
            guard body.count - start <= session.limits.maximumBytes else { throw tooLarge(body.count - start) }
        } catch {
            body.storage.removeSubrange(start...)
            throw error
        }
    }

    /// Gives the root the caller's storage to append to, and gives it back.
    func exchangeBody(_ writer: inout MessagePackWriter) {
        swap(&body, &writer)
    }

    func keyedContainer<Key: CodingKey>(_ type: Key.Type) -> KeyedEncodingContainer<Key> {
        guard isActive, let kept = session.containers.take(for: type, self, &containers) else { return newContainer(type) }
        return kept.with { unsafeDowncast($0, to: TypedContainer<EncodingNode, KeyedEncodingContainer<Key>>.self).copy() }
    }

    @inline(never)
    private func newContainer<Key: CodingKey>(_ type: Key.Type) -> KeyedEncodingContainer<Key> {
        let place = ContainerPlace(self)
        let container = KeyedEncodingContainer(KeyedEncoding<Key>(place: place))
        if isActive, EncodingSession.canKeepContainers { session.containers.add(container, for: type, place, &containers) }
        return container
    }

    // MARK: Elements

    func begin(_ shape: Shape) {
        if self.shape == .nothing {
            self.shape = shape
        } else if self.shape != shape, !(self.shape == .set && shape == .array) {
            hasConflict = true
        }
    }

    /// Begins the one value of a single value container. A second one replaces the first.
    func beginSingle() {
        begin(.single)
        body.removeAll()
    }

    /// Begins the next element of an array.
    func beginElement() {
        if session.isCanonical { if count < starts.count { starts[count] = body.count } else { starts.append(body.count) } }
        count += 1
    }

    /// Begins the next pair of a map.
    func beginPair(_ name: String) {
        beginElement()
        body.write(name)
    }

    /// Begins the next pair of a map, whose value a node of its own collects.
    func appendChild(at name: String, _ keyType: any CodingKey.Type) -> EncodingNode {
        let start = body.count
        beginPair(name)
        return appendChild(at: .key(keyType, at: start))
    }

    /// Begins a node whose bytes come after those appended so far, however late it is filled.
    func appendChild(at step: PathStep) -> EncodingNode {
        guard isActive else { return lateChild(at: step) }
        let node = session.node(below: self, at: step)
        children.append(Child(offset: body.count, count: count, node: node))
        return node
    }

    /// Makes a node whose bytes come nowhere, since this one is written, and which only belongs to who asks for it.
    private func lateChild(at step: PathStep) -> EncodingNode {
        let node = EncodingNode(session: session)
        node.begin(below: self, at: step)
        node.isActive = false
        return node
    }

    func appendElement<T: Encodable>(_ value: T) throws {
        let step = PathStep.index(count)
        try appendElement { try append(value, at: step) }
    }

    func appendPair<T: Encodable>(_ value: T, for name: String, _ keyType: any CodingKey.Type) throws {
        try appendElement {
            let start = body.count
            body.write(name)
            try append(value, at: .key(keyType, at: start))
        }
    }

    /// Appends a pair of a dictionary. A key that is neither string nor integer makes an array of the whole.
    func appendPair<Key: Encodable, Value: Encodable>(_ key: Key, _ value: Value) throws {
        try appendElement {
            let start = body.count
            try append(key, at: .same)
            switch MessagePackType(firstByte: body.storage[start]) {
            case .string, .integer: break
            default: hasScalarKeys = false
            }
            try append(value, at: .entry(start))
        }
    }

    /// Appends an element, or nothing at all if it throws: the value may catch the error and go on.
    private func appendElement(_ append: () throws -> Void) throws {
        let start = body.count
        beginElement()
        do {
            try append()
        } catch {
            body.storage.removeSubrange(start...)
            count -= 1
            throw error
        }
    }

    // MARK: Values

    func appendNil() { body.writeNil() }
    func append(_ value: Bool) { body.write(value) }
    func append(_ value: String) { body.write(value) }

    @inline(__always)
    func append(_ value: some FixedWidthInteger) {
        if let value = Int64(exactly: value) {
            body.write(value)
        } else {
            body.write(UInt64(truncatingIfNeeded: value))
        }
    }

    func append(_ value: Double) { body.write(session.isCanonical ? canonical(value) : value) }
    func append(_ value: Float) { body.write(session.isCanonical ? canonical(value) : value) }

    /// Equal floats with equal bits, and one NaN.
    private func canonical<T: BinaryFloatingPoint>(_ value: T) -> T {
        value.isNaN ? .nan : value == 0 ? 0 : value
    }

    /// Appends a value in the form its type has here, or else in the one it asks for.
    func append<T: Encodable>(_ value: T, at step: PathStep) throws {
        // Elements of arrays arrive here whatever their type is.
        if let value = same(value, as: String.self) { return append(value) }
        if let value = same(value, as: Int.self) { return append(value) }
        if let value = same(value, as: Double.self) { return append(value) }
        if let value = same(value, as: Bool.self) { return append(value) }
        if let value = same(value, as: [UInt8].self) { return body.writeBinary(value) }
        if let value = same(value, as: UInt64.self) { return append(value) }
        if let value = same(value, as: Int64.self) { return append(value) }
        if let value = same(value, as: UInt32.self) { return append(value) }
        if let value = same(value, as: Int32.self) { return append(value) }

        // By the type of the value, which for an object may be a subclass.
        switch session.form(of: Swift.type(of: value)) {
        case .plain:
            try appendNode(at: step) { try value.encode(to: $0) }
        case .packable(let type):
            write(value, as: type)
        case .dictionary(let type):
            try appendNode(at: step) { try encodePairs(of: value, as: type, to: $0) }
        case .set:
            try appendNode(at: step) { node in
                node.begin(.set)
                try value.encode(to: node)
            }
        }
    }

    private func write<T, Packable: MessagePackable>(_ value: T, as type: Packable.Type) {
        var writer = takeBody()
        known(value, as: type).write(to: &writer)
        body = writer
    }

    private func encodePairs<T, Dictionary: EncodableDictionary>(
        of value: T, as type: Dictionary.Type, to node: EncodingNode
    ) throws {
        try known(value, as: type).encodePairs(to: node)
    }

    /// While other code appends to the body it is not in the node.
    private func takeBody() -> MessagePackWriter {
        var writer = MessagePackWriter()
        swap(&body, &writer)
        return writer
    }

    /// Calls `body` with the bytes of the elements, and with where each begins. Meanwhile they are not in the node: an array that could
    /// be replaced there would be counted.
    func withElements(_ body: (UnsafeRawBufferPointer, UnsafeBufferPointer<Int>) -> Void) {
        let writer = takeBody()
        var starts: [Int] = []
        swap(&starts, &self.starts)
        writer.storage.withUnsafeBytes { bytes in starts.withUnsafeBufferPointer { body(bytes, $0) } }
        swap(&starts, &self.starts)
        self.body = writer
    }

    private func appendNode(at step: PathStep, _ encode: (EncodingNode) throws -> Void) throws {
        var node = session.node(below: self, at: step)
        defer { session.recycle(&node) }
        guard node.level <= session.limits.maximumLevel else { throw node.tooDeep() }
        try encode(node)
        try node.check()
        var writer = takeBody()
        node.write(to: &writer)
        body = writer
    }
}
