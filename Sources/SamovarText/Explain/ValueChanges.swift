package import MessagePack

/// What differs between two encoded values: the smallest parts that do, in the order of the later value.
///
/// The bytes of both are read in step, and no value is made of them: beside the two values themselves that takes next to nothing, however large they are.
package struct ValueChanges: Equatable, Sendable {
    /// One part. An element of a sequence that was removed has its place in the former value, any other that in the later one.
    package struct Change: Equatable, Sendable {
        package let path: ValuePath
        /// A part of the former value; nil where there is nothing.
        package let before: EncodedPart?
        package let after: EncodedPart?
    }

    /// Parts that are shown.
    static let maximumParts = 1_000
    /// Bytes of a value that are shown.
    package static let maximumBytes = 64 << 10

    package private(set) var changes: [Change] = []
    /// Whether there are more.
    package private(set) var isCut = false

    /// - Throws: `MessagePackError` for bytes that are no value.
    package init(from before: [UInt8], to after: [UInt8], at path: ValuePath) throws(MessagePackError) {
        try collect(EncodedPart(bytes: before[...]), EncodedPart(bytes: after[...]), path)
    }

    private mutating func collect(_ before: EncodedPart, _ after: EncodedPart, _ path: ValuePath) throws(MessagePackError) {
        guard !isCut, before != after else { return }
        var (old, new) = (before.reader, after.reader)
        switch (try old.peekType(), try new.peekType()) {
        case (.map, .map):
            let counts = (try old.readMapHeader(), try new.readMapHeader())
            guard counts.0 > 0, counts.1 > 0 else { return note(before, after, path) }
            try collectPairs(&old, &new, counts, path)
        case (.array, .array):
            let counts = (try old.readArrayHeader(), try new.readArrayHeader())
            guard counts.0 > 0, counts.1 > 0 else { return note(before, after, path) }
            try collectElements(&old, &new, counts, path)
        default: note(before, after, path)
        }
    }

    private mutating func note(_ before: EncodedPart?, _ after: EncodedPart?, _ path: ValuePath) {
        guard changes.count < Self.maximumParts else { return isCut = true }
        changes.append(Change(path: path, before: before, after: after))
    }
}

// MARK: Maps

extension ValueChanges {
    /// Both readers stand at their first pair.
    private mutating func collectPairs(
        _ old: inout MessagePackReader, _ new: inout MessagePackReader, _ counts: (Int, Int), _ path: ValuePath
    ) throws(MessagePackError) {
        guard try old.isSorted(counts.0), try new.isSorted(counts.1) else {
            return try collectUnsorted(try old.readPairs(counts.0), try new.readPairs(counts.1), path)
        }
        var (former, later) = (try old.nextPair(true), try new.nextPair(true))
        var (formerLeft, laterLeft) = counts
        while !isCut, former != nil || later != nil {
            let isRemoved = later.map { later in former.map { $0.key < later.key } ?? false } ?? true
            let isInserted = former.map { former in later.map { $0.key < former.key } ?? false } ?? true
            try collect(isInserted ? nil : former, isRemoved ? nil : later, path)
            if !isInserted {
                formerLeft -= 1
                former = try old.nextPair(formerLeft > 0)
            }
            if !isRemoved {
                laterLeft -= 1
                later = try new.nextPair(laterLeft > 0)
            }
        }
    }

    /// Pairs in an order of their own, as those have whose type writes itself.
    private mutating func collectUnsorted(_ old: [EncodedPair], _ new: [EncodedPair], _ path: ValuePath) throws(MessagePackError) {
        let former = Dictionary(old.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        let later = Set(new.map(\.key))
        for pair in old where !later.contains(pair.key) { try collect(pair, nil, path) }
        for pair in new { try collect(former[pair.key], pair, path) }
    }

    private mutating func collect(_ former: EncodedPair?, _ later: EncodedPair?, _ path: ValuePath) throws(MessagePackError) {
        guard former?.value != later?.value, let key = (later ?? former)?.key else { return }
        var reader = key.reader
        let path = path.appending(.init(to: try reader.readValue()))
        guard let before = former?.value, let after = later?.value else { return note(former?.value, later?.value, path) }
        try collect(before, after, path)
    }
}

// MARK: Sequences

extension ValueChanges {
    /// Both readers stand at their first element. What is equal at both ends is passed over; what is between is aligned if it is not too much.
    private mutating func collectElements(
        _ old: inout MessagePackReader, _ new: inout MessagePackReader, _ counts: (Int, Int), _ path: ValuePath
    ) throws(MessagePackError) {
        let shorter = min(counts.0, counts.1)
        var begin = 0
        while begin < shorter {
            var (former, later) = (old, new)
            guard try former.readPart() == later.readPart() else { break }
            (old, new) = (former, later)
            begin += 1
        }
        let end = try Self.equalEnd(old, new, (counts.0 - begin, counts.1 - begin))
        let (removed, inserted) = (counts.0 - begin - end, counts.1 - begin - end)
        let cells = removed.multipliedReportingOverflow(by: inserted)
        guard !cells.overflow, (1...Alignment.maximumCells).contains(cells.partialValue) else {
            return try collectByPlace(&old, &new, (removed, inserted), from: begin, path)
        }
        let (former, later) = (try old.readParts(removed), try new.readParts(inserted))
        for pair in Alignment.pairs(of: former, and: later) {
            switch pair {
            case .both(let i, let j): try collect(former[i], later[j], path.appending(.index(begin + j)))
            case .removed(let i): note(former[i], nil, path.appending(.index(begin + i)))
            case .inserted(let j): note(nil, later[j], path.appending(.index(begin + j)))
            }
        }
    }

    /// How many elements are equal at the end of both.
    private static func equalEnd(
        _ old: MessagePackReader, _ new: MessagePackReader, _ counts: (Int, Int)
    ) throws(MessagePackError) -> Int {
        var (old, new) = (old, new)
        let shorter = min(counts.0, counts.1)
        for _ in shorter..<counts.0 { try old.skip() }
        for _ in shorter..<counts.1 { try new.skip() }
        var equal = 0
        for _ in 0..<shorter { equal = try old.readPart() == new.readPart() ? equal + 1 : 0 }
        return equal
    }

    private mutating func collectByPlace(
        _ old: inout MessagePackReader, _ new: inout MessagePackReader, _ counts: (Int, Int), from begin: Int, _ path: ValuePath
    ) throws(MessagePackError) {
        for place in 0..<max(counts.0, counts.1) where !isCut {
            let former = place < counts.0 ? try old.readPart() : nil
            let later = place < counts.1 ? try new.readPart() : nil
            guard former != later else { continue }
            let path = path.appending(.index(begin + place))
            if let former, let later { try collect(former, later, path) } else { note(former, later, path) }
        }
    }
}

// MARK: For people and for programs

extension ValueChanges {
    /// One line for each part: `state.sync: 1 → 2`.
    package var lines: [String] {
        let lines = changes.map { "\($0.path): \(Self.text(of: $0.before)) → \(Self.text(of: $0.after))" }
        return isCut ? lines + ["… and more: only the first \(Self.maximumParts) parts are shown"] : lines
    }

    package var value: MessagePackValue { .array(changes.map(\.value)) }

    /// A value as JSON; what there is not, as “nothing”.
    package static func text(of part: EncodedPart?) -> String {
        part.map { escapeForTerminal($0.shown(maximumBytes).text) } ?? "nothing"
    }
}

extension ValueChanges.Change {
    package var value: MessagePackValue {
        var value: MessagePackValue = ["path": .string("\(path)")]
        for (name, part) in [("before", before), ("after", after)] {
            guard let part else { continue }
            // What is cut is a text, and says so.
            let shown = part.shown(ValueChanges.maximumBytes)
            value[name] = shown.value ?? .string(escapeForTerminal(shown.text))
            if shown.value == nil { value["isCut"] = true }
        }
        return value
    }
}
