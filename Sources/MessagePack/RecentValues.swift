/// The newest small values of one type that were encoded or decoded, each beside its bytes.
///
/// What a program is told is often what it was told before: a tick, a vote, one more. `Codable`'s containers take a microsecond for the
/// smallest case of an enum, and a comparison of twenty bytes a hundredth of it.
///
/// Where values are decoded, only those that are nothing but bits are kept: they hold no reference, so nobody can tell one that is kept
/// from one that was decoded. Where they are encoded, the type may have references, too, as an enum has of which one case has a text.
/// The same bits are the same value as long as what they refer to is held and cannot change. So a value of such a type is kept when its
/// bytes come a second time, and is looked at first: see ``isUnchangeable(_:depth:)``.
struct RecentValues: ~Copyable {
    private let type: ObjectIdentifier
    private let size: Int
    private let stride: Int
    /// For each place the number of bytes and the bytes; 0 if there are none.
    private let keys: UnsafeMutableRawPointer
    private let values: UnsafeMutableRawPointer
    private let marks: UnsafeMutablePointer<Mark>
    /// How many values in a row were looked for in vain. After many they are all different, as far as one can tell, and to look for
    /// each would only take time.
    private var misses = 0
    private var isLooking = true
    private var skipped = 0
    /// Lets go of what a value refers to; nil if there is nothing.
    private let release: ((UnsafeMutableRawPointer) -> Void)?

    /// What is known of the value of a place, whose bytes are there in any case.
    private enum Mark {
        case held
        case seenOnce
        /// It could change.
        case refused
    }

    private static let places = 16
    private static let keySize = 48
    private static let largestValue = 256
    private static let mostMisses = 64

    /// Nil if values of this type are not kept. An object never is, for it may change.
    ///
    /// - Parameter holding: whether those that have references are kept, too.
    init?<Value>(of type: Value.Type, holding: Bool = false) {
        guard _isPOD(type) || (holding && !(type is AnyObject.Type)), MemoryLayout<Value>.size <= Self.largestValue else {
            return nil
        }
        release = _isPOD(type) ? nil : { $0.assumingMemoryBound(to: type).deinitialize(count: 1) }
        self.type = ObjectIdentifier(type)
        size = MemoryLayout<Value>.size
        stride = MemoryLayout<Value>.stride
        keys = .allocate(byteCount: Self.places * Self.keySize, alignment: 8)
        keys.initializeMemory(as: UInt8.self, repeating: 0, count: Self.places * Self.keySize)
        values = .allocate(byteCount: Self.places * stride, alignment: MemoryLayout<Value>.alignment)
        marks = .allocate(capacity: Self.places)
        marks.initialize(repeating: .seenOnce, count: Self.places)
    }

    deinit {
        for place in 0..<Self.places { empty(place) }
        keys.deallocate()
        values.deallocate()
        marks.deallocate()
    }

    /// Decides whether the next value is looked for, and kept if it is not found: after many misses, only one of eight.
    private mutating func look() -> Bool {
        skipped = (skipped + 1) & 7
        isLooking = misses < Self.mostMisses || skipped == 0
        return isLooking
    }

    private mutating func note<Found>(_ found: Found?) -> Found? {
        misses = found == nil ? min(misses + 1, Self.mostMisses) : 0
        return found
    }

    // MARK: Decoding

    /// Where the value of these bytes is, if it is kept.
    mutating func value(of bytes: UnsafeRawBufferPointer, as type: any Any.Type) -> UnsafeRawPointer? {
        look() ? note(find(bytes, as: type)) : nil
    }

    private func find(_ bytes: UnsafeRawBufferPointer, as type: any Any.Type) -> UnsafeRawPointer? {
        guard ObjectIdentifier(type) == self.type, let place = place(of: bytes), areEqual(bytes, self.bytes(at: place)) else {
            return nil
        }
        return UnsafeRawPointer(values + place * stride)
    }

    /// Keeps a decoded value that was looked for, in the place of an older one.
    func keep<Value>(_ value: Value, of bytes: UnsafeRawBufferPointer) {
        guard isLooking, let place = place(of: bytes), ObjectIdentifier(Value.self) == type else { return }
        keep(bytes, at: place)
        hold(value, at: place)
    }

    /// Nil if there are too many bytes. Values that differ mostly do so in the last one.
    private func place(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count < Self.keySize, let last = bytes.last else { return nil }
        return (Int(last) ^ bytes.count) & (Self.places - 1)
    }

    // MARK: Encoding

    /// The bytes of this value, if they are kept.
    mutating func bytes<Value>(of value: Value) -> UnsafeRawBufferPointer? {
        guard look(), ObjectIdentifier(Value.self) == type else { return nil }
        return note(withUnsafeBytes(of: value) { bytes(ofBits: $0) })
    }

    private func bytes(ofBits bits: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let place = place(ofBits: bits)
        let isHeld = marks[place] == .held
        guard isHeld, areEqual(bits, UnsafeRawBufferPointer(start: values + place * stride, count: size)) else { return nil }
        return bytes(at: place)
    }

    /// Keeps the bytes of an encoded value that was looked for, in the place of older ones.
    func keep<Value>(_ bytes: UnsafeRawBufferPointer, of value: Value) {
        guard isLooking, ObjectIdentifier(Value.self) == type, bytes.count < Self.keySize else { return }
        let place = withUnsafeBytes(of: value) { self.place(ofBits: $0) }
        if release == nil {
            keep(bytes, at: place)
            hold(value, at: place)
        } else if !areEqual(bytes, self.bytes(at: place)) {
            keep(bytes, at: place)
        } else if marks[place] == .seenOnce {
            if isUnchangeable(value) { hold(value, at: place) } else { marks[place] = .refused }
        }
    }

    private func place(ofBits bits: UnsafeRawBufferPointer) -> Int {
        var sum: UInt8 = 0
        for bit in bits { sum = sum &* 5 &+ bit }
        return Int(sum) & (Self.places - 1)
    }

    // MARK: Places

    private func bytes(at place: Int) -> UnsafeRawBufferPointer {
        let key = keys + place * Self.keySize
        return UnsafeRawBufferPointer(start: key + 1, count: Int(key.load(as: UInt8.self)))
    }

    private func keep(_ bytes: UnsafeRawBufferPointer, at place: Int) {
        empty(place)
        let key = keys + place * Self.keySize
        key.storeBytes(of: UInt8(bytes.count), as: UInt8.self)
        UnsafeMutableRawBufferPointer(start: key + 1, count: bytes.count).copyMemory(from: bytes)
        marks[place] = .seenOnce
    }

    private func hold<Value>(_ value: Value, at place: Int) {
        (values + place * stride).initializeMemory(as: Value.self, repeating: value, count: 1)
        marks[place] = .held
    }

    private func empty(_ place: Int) {
        if let release, marks[place] == .held { release(values + place * stride) }
    }
}

/// Whether a value stays what it is for as long as it is held: bits and texts, in structures, cases and tuples. An object may change, and
/// so may what a type shows of itself by its own account; a list or a dictionary is not copied where others have it, too.
private func isUnchangeable(_ value: Any, depth: Int = 0) -> Bool {
    func isBits<Value>(_ value: Value) -> Bool { _isPOD(Value.self) }
    if _openExistential(value, do: isBits) || value is String { return true }
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional: break
    case .struct, .enum, .tuple: if value is any CustomReflectable { return false }
    default: return false
    }
    return depth < 16 && mirror.children.allSatisfy { isUnchangeable($0.value, depth: depth + 1) }
}

/// Whether these are the same bytes, compared eight at a time: the last ones together with some before them.
func areEqual(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool {
    let count = first.count
    guard count == second.count else { return false }
    guard count >= 8 else {
        for index in 0..<count where first[index] != second[index] { return false }
        return true
    }
    func differs(at offset: Int) -> Bool {
        let one = first.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        return one != second.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
    for offset in Swift.stride(from: 0, to: count - 8, by: 8) where differs(at: offset) { return false }
    return !differs(at: count - 8)
}
