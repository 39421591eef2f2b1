/// One value being decoded: the `Decoder` its `init(from:)` gets.
///
/// Fields are mostly read in the order in which they were written. So a node keeps the place of the next element, and a
/// look-up compares the key there. Only a look-up that fails makes an index of all keys.
///
/// `unchecked`: each access is one load or one store of one thread, so none can overlap another.
final class DecodingNode: PooledNode {
    enum Content { case unopened, array, map }

    let session: DecodingSession
    /// Moved to wherever a value is read; after a read it stands at the end of the value.
    var reader: MessagePackReader {
        @inline(__always) _read { yield place.pointee }
        @inline(__always) _modify { yield &place.pointee }
    }
    /// Where the reader is: that of the node above, which for the root is the session's, or this node's own.
    private var place: UnsafeMutablePointer<MessagePackReader>
    /// That of the map which a bare word in the place of an enum stands for.
    private var wordReader: UnsafeMutablePointer<MessagePackReader>?
    var above: DecodingNode?
    private(set) var step = PathStep.same
    /// Where the value begins.
    private(set) var offset: Int
    /// What is being decoded, for errors; a container nested by hand has the type of the value that nests it.
    private(set) var subject: any Any.Type
    /// How many arrays and maps contain this value.
    private(set) var depth = 0
    /// How many values contain this one.
    private(set) var level = 0
    /// Whether it is a container which the parent nests by hand, as an enum does for the values of a case.
    private(set) var isNested = false
    /// Whether it is the key of a dictionary, where digits in a string count as an integer.
    private(set) var isKey = false

    private(set) var content = Content.unopened
    private(set) var count = 0
    /// Where the elements begin.
    private(set) var start = 0
    /// The number of the element expected next, and where it begins, as long as all were read in order.
    var index = 0
    var next = 0
    /// All pairs of a map, once a look-up needed them.
    @exclusivity(unchecked) var entries: [Entry] = []
    var isIndexed = false
    /// The first pairs of a map whose keys are known to be keys of a container: a bit for each.
    private var known: UInt64 = 0
    /// The end of the value, once it is known otherwise than by the end of its elements.
    var end: Int?

    /// The end of a bare word which stands in the place of an enum's map.
    private(set) var wordEnd: Int?

    /// The types of the keyed containers asked for: nearly always one.
    private(set) var keyType: (any CodingKey.Type)?
    @exclusivity(unchecked) private(set) var moreKeyTypes: [any CodingKey.Type] = []
    /// The newest of the first few nodes that this one has nested by hand, which are used again with it.
    private var nested: DecodingNode?
    private var nestedCount = 0
    /// The one that the parent has nested before this one.
    private var nestedBefore: DecodingNode?
    /// The keyed containers that it has handed out and takes back.
    @exclusivity(unchecked) private var containers: ContainerPool<DecodingNode>.Reference?
    /// Whether its value is being decoded. Afterwards the value may still have it: what it then hands out, nobody takes back.
    private var isActive = false

    /// Makes the root, at the value given to the decoder.
    init(session: DecodingSession, offset: Int, subject: any Any.Type) {
        self.session = session
        place = session.reader
        self.offset = offset
        self.subject = subject
    }

    deinit { closeWord() }

    /// Starts over as the node of an element, or of the same value again if `step` says so.
    func begin(below parent: DecodingNode, at offset: Int, step: PathStep, subject: any Any.Type, isNested: Bool, isKey: Bool) {
        place = parent.place
        above = parent
        self.step = step
        self.offset = offset
        self.subject = subject
        depth = parent.content == .unopened ? parent.depth : parent.depth + 1
        level = parent.level + 1
        self.isNested = isNested
        self.isKey = isKey
        content = .unopened
        isIndexed = false
        known = 0
        end = nil
        wordEnd = nil
        keyType = nil
        isActive = true
        closeWord()
        if !moreKeyTypes.isEmpty { moreKeyTypes.removeAll() }
    }

    /// Starts over as the root.
    func begin(at offset: Int, subject: any Any.Type) {
        self.offset = offset
        self.subject = subject
    }

    /// Takes back what it has handed out, which the value may still have.
    func close() {
        isActive = false
        while var node = nested {
            nested = node.nestedBefore
            node.nestedBefore = nil
            session.recycle(&node)
        }
        nestedCount = 0
        if containers != nil { session.containers.takeBack(&containers) }
    }

    /// Makes the node of a value which this one decodes by hand.
    func child(at offset: Int, step: PathStep) -> DecodingNode {
        guard isActive, nestedCount < 8 else { return furtherChild(at: offset, step: step) }
        let node = session.node(below: self, at: offset, step: step, subject: subject, isNested: true)
        node.nestedBefore = nested
        nested = node
        nestedCount += 1
        return node
    }

    /// Makes a node that only belongs to who asks for it.
    private func furtherChild(at offset: Int, step: PathStep) -> DecodingNode {
        session.forgo()
        let node = DecodingNode(session: session, offset: offset, subject: subject)
        node.begin(below: self, at: offset, step: step, subject: subject, isNested: true, isKey: false)
        node.isActive = false
        return node
    }

    func keyedContainer<Key: CodingKey>(_ type: Key.Type) -> KeyedDecodingContainer<Key> {
        guard isActive, let kept = session.containers.take(for: type, self, &containers) else { return newContainer(type) }
        return kept.with { unsafeDowncast($0, to: TypedContainer<DecodingNode, KeyedDecodingContainer<Key>>.self).copy() }
    }

    @inline(never)
    private func newContainer<Key: CodingKey>(_ type: Key.Type) -> KeyedDecodingContainer<Key> {
        let place = ContainerPlace(self)
        let container = KeyedDecodingContainer(KeyedDecoding<Key>(place: place))
        if isActive, DecodingSession.canKeepContainers { session.containers.add(container, for: type, place, &containers) }
        return container
    }

    var capacity: Int { entries.capacity * MemoryLayout<Entry>.stride }

    var isLenient: Bool { session.isLenient }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var node: DecodingNode? = self
        while let current = node {
            let parent = current.above
            if let key = current.step.codingKey(in: parent?.reader.bytes ?? []) { path.append(key) }
            node = parent
        }
        return path.reversed()
    }

    // MARK: Opening

    /// Makes sure that the value is an array. Any number of containers may be asked for.
    func openArray() throws {
        guard content != .array else { return }
        reader.next = offset
        try open(.array, "an array", [Any].self) { reader throws(MessagePackError) in try reader.readArrayHeader() }
    }

    /// Makes sure that the value is a map.
    func openMap() throws {
        guard content != .map else { return }
        reader.next = offset
        if isLenient, isEnum(subject), try reader.nextType() == .string { try openWord() }
        try open(.map, "a map", [String: Any].self) { reader throws(MessagePackError) in try reader.readMapHeader() }
    }

    private func open(
        _ content: Content, _ expected: String, _ type: any Any.Type,
        header: (inout MessagePackReader) throws(MessagePackError) -> Int
    ) throws {
        guard depth < session.limits.maximumDepth else { throw reader.tooDeep() }
        do {
            count = try header(&reader)
        } catch {
            throw failure(error, expected, type, .same)
        }
        self.content = content
        start = reader.next
        index = 0
        next = start
        isIndexed = false
        known = 0
    }

    /// Goes on with `{"reset": {}}` in the place of `"reset"`.
    private func openWord() throws {
        let word = try reader.readRaw()
        wordEnd = reader.next
        let bytes = [Format.fixMap | 1] + word + [Format.fixMap]
        place = .allocate(capacity: 1)
        place.initialize(to: MessagePackReader(bytes, limits: session.limits, lenient: true))
        wordReader = place
        offset = 0
    }

    private func closeWord() {
        guard let reader = wordReader else { return }
        reader.deinitialize(count: 1)
        reader.deallocate()
        wordReader = nil
    }

    /// Makes sure that the value is a map, or an array of keys and values in turn, and returns the number of pairs.
    func openPairs() throws -> Int {
        reader.next = offset
        guard try reader.nextType() == .array else {
            try openMap()
            return count
        }
        try openArray()
        guard count.isMultiple(of: 2) else { throw unpaired() }
        return count / 2
    }

    /// Notes the keys which a container asked for.
    func allow(_ type: any CodingKey.Type) {
        if keyType == nil { keyType = type } else { moreKeyTypes.append(type) }
    }

    var keyTypes: [any CodingKey.Type] { (keyType.map { [$0] } ?? []) + moreKeyTypes }

    // MARK: Progress

    /// Notes that the key of a pair is one of those that the container has.
    func know(_ element: Int) {
        if element < UInt64.bitWidth { known |= 1 << UInt64(element) }
    }

    /// Whether all keys of the map are noted.
    var knowsAllKeys: Bool { known.nonzeroBitCount == count }

    /// Notes that the reader stands behind an element.
    func advance(past element: Int) {
        if isIndexed {
            index = element + 1
        } else if element == index {
            index += 1
            next = reader.next
        }
    }

    /// Notes that the reader stands behind a pair of a dictionary.
    func advancePastPair() {
        index += content == .map ? 1 : 2
        next = reader.next
    }

    /// Moves the reader behind the whole value, over whatever was not asked for.
    func finish() throws {
        if let end {
            reader.next = end
        } else if content == .unopened {
            try skip(from: offset, count: 1)
        } else if index == count - 1, let nested, nested.isPair(at: next) {
            // As an enum's values are, which were read by now.
            try nested.finish(in: self)
        } else {
            try skip(from: next, count: (count - index) * (content == .map ? 2 : 1))
        }
    }

    /// Moves the reader of the node above behind this value: it is another one if this is a word's.
    func finish(in parent: DecodingNode) throws {
        try finish()
        if let wordEnd { parent.reader.next = wordEnd }
    }

    private func isPair(at start: Int) -> Bool {
        if case .key(_, at: start) = step { true } else { false }
    }

    func skip(from offset: Int, count: Int) throws {
        reader.next = offset
        reader.depth = content == .unopened ? depth : depth + 1
        for _ in 0..<count { try reader.skip() }
    }
}
