/// One value being decoded.
///
/// Fields are mostly read in the order in which they were written. So a node keeps the place of the next element, and a
/// look-up compares the key there. Only a look-up that fails makes an index of all keys.
struct DecodingNode: PooledNode, ~Copyable {
    typealias Slot = UnsafeMutablePointer<DecodingNode>
    typealias Place = NodePlace<DecodingSession, DecodingNode>

    enum Content { case unopened, array, map }

    /// Moved to wherever a value is read; after a read it stands at the end of the value.
    var reader: MessagePackReader {
        @inline(__always) _read { yield readerPlace.pointee }
        @inline(__always) nonmutating _modify { yield &readerPlace.pointee }
    }
    /// Where the reader is: that of the node above, which for the root is the session's, or that of this node's own word.
    private var readerPlace: UnsafeMutablePointer<MessagePackReader>
    /// What a bare word in the place of an enum stands for.
    private var word: Cell<MessagePackReader>?
    private(set) var above: Slot?
    private(set) var step = PathStep.same
    /// Where the value begins.
    private(set) var offset = 0
    /// What is being decoded, for errors; a container nested by hand has the type of the value that nests it.
    private(set) var subject: any Any.Type = Never.self
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
    var entries: [Pair] = []
    var isIndexed = false
    /// The first pairs of a map whose keys are known to be keys of a container: a bit for each.
    private var known: UInt64 = 0
    /// The end of the value, once it is known otherwise than by the end of its elements.
    var end: Int?

    /// The end of a bare word which stands in the place of an enum's map.
    private(set) var wordEnd: Int?

    /// The types of the keyed containers asked for: nearly always one.
    private(set) var keyType: (any CodingKey.Type)?
    private(set) var moreKeyTypes: [any CodingKey.Type] = []
    /// The newest of the nodes that this one has nested by hand.
    var nested: Slot?
    /// The one that the parent has nested before this one.
    var nestedBefore: Slot?
    var loans = NodeLoans<DecodingSession, DecodingNode>()

    /// A root, which is where the session's reader is.
    init(_ reader: UnsafeMutablePointer<MessagePackReader>) { readerPlace = reader }

    /// Starts over as the node of an element, or of the same value again if `step` says so.
    mutating func begin(below parent: Slot, at offset: Int, step: PathStep, subject: any Any.Type, isNested: Bool, isKey: Bool) {
        readerPlace = parent.pointee.readerPlace
        above = parent
        self.step = step
        self.offset = offset
        self.subject = subject
        depth = parent.pointee.content == .unopened ? parent.pointee.depth : parent.pointee.depth + 1
        level = parent.pointee.level + 1
        self.isNested = isNested
        self.isKey = isKey
        content = .unopened
        isIndexed = false
        known = 0
        end = nil
        wordEnd = nil
        keyType = nil
        loans.isActive = true
        word = nil
        if !moreKeyTypes.isEmpty { moreKeyTypes.removeAll() }
    }

    /// Starts over as the root.
    mutating func begin(at offset: Int, subject: any Any.Type) {
        self.offset = offset
        self.subject = subject
    }

    /// How many bytes it keeps for itself.
    var capacity: Int { entries.capacity * MemoryLayout<Pair>.stride }

    /// Lets go of the memory for its index.
    mutating func shrink() { entries = [] }

    var codingPath: [any CodingKey] {
        var path = above?.pointee.codingPath ?? []
        if let key = step.codingKey(in: above?.pointee.reader.bytes ?? []) { path.append(key) }
        return path
    }

    // MARK: Opening

    /// Makes sure that the value is an array. Any number of containers may be asked for.
    mutating func openArray() throws {
        guard content != .array else { return }
        reader.next = offset
        try open(.array, "an array", [Any].self)
    }

    /// Makes sure that the value is a map.
    mutating func openMap() throws {
        guard content != .map else { return }
        reader.next = offset
        // What a value nests by hand has the value's type, and is no enum itself: of one it is the values of a case.
        if reader.isLenient, !isNested, try reader.nextType() == .string, isEnum(subject) { try openWord() }
        try open(.map, "a map", [String: Any].self)
    }

    @inline(__always)
    private mutating func open(_ content: Content, _ expected: String, _ type: any Any.Type) throws {
        guard depth < reader.limits.maximumDepth else { throw reader.tooDeep() }
        do {
            count = try content == .map ? reader.readMapHeader() : reader.readArrayHeader()
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
    private mutating func openWord() throws {
        let text = try reader.readRaw()
        wordEnd = reader.next
        let word = Cell(MessagePackReader([Format.fixMap | 1] + text + [Format.fixMap], limits: reader.limits, lenient: true))
        readerPlace = word.address
        self.word = consume word
        offset = 0
    }

    /// Makes sure that the value is a map, or an array of keys and values in turn, and returns the number of pairs.
    mutating func openPairs() throws -> Int {
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
    mutating func allow(_ type: any CodingKey.Type) {
        if keyType == nil { keyType = type } else { moreKeyTypes.append(type) }
    }

    var keyTypes: [any CodingKey.Type] { (keyType.map { [$0] } ?? []) + moreKeyTypes }

    // MARK: Progress

    /// Notes that the key of a pair is one of those that the container has.
    mutating func know(_ element: Int) {
        if element < UInt64.bitWidth { known |= 1 << UInt64(element) }
    }

    /// Whether all keys of the map are noted.
    var knowsAllKeys: Bool { known.nonzeroBitCount == count }

    /// Notes that the reader stands behind an element.
    mutating func advance(past element: Int) {
        if isIndexed {
            index = element + 1
        } else if element == index {
            index += 1
            next = reader.next
        }
    }

    /// Notes that the reader stands behind a pair of a dictionary.
    mutating func advancePastPair() {
        index += content == .map ? 1 : 2
        next = reader.next
    }

    /// Moves the reader behind the whole value, over whatever was not asked for.
    mutating func finish() throws {
        if let end {
            reader.next = end
        } else if content == .unopened {
            try skip(from: offset, count: 1)
        } else if index == count - 1, let nested, nested.pointee.isPair(at: next) {
            // As an enum's values are, which were read by now.
            try nested.pointee.finish()
            if let wordEnd = nested.pointee.wordEnd { reader.next = wordEnd }
        } else {
            try skip(from: next, count: (count - index) * (content == .map ? 2 : 1))
        }
    }

    /// Moves the reader of the node above behind this value: it is another one if this is a word's.
    mutating func finish(in parent: Slot) throws {
        try finish()
        if let wordEnd { parent.pointee.reader.next = wordEnd }
    }

    private mutating func isPair(at start: Int) -> Bool {
        if case .key(_, at: start) = step { true } else { false }
    }

    mutating func skip(from offset: Int, count: Int) throws {
        reader.next = offset
        reader.depth = content == .unopened ? depth : depth + 1
        for _ in 0..<count { try reader.skip() }
    }
}
