/// The newest small values of one type that were decoded, each beside its bytes.
///
/// What a program is told is often what it was told before: a tick, a vote, one more. `Codable`'s containers take a microsecond for the
/// smallest case of an enum, and a comparison of twenty bytes a hundredth of it. Only values that are nothing but bits are kept: they
/// hold no reference, so nobody can tell one that is kept from one that was decoded, and nothing lives longer for it.
struct RecentValues: ~Copyable {
    private let type: ObjectIdentifier
    private let stride: Int
    /// For each place the number of bytes and the bytes; 0 if there are none.
    private let keys: UnsafeMutableRawPointer
    private let values: UnsafeMutableRawPointer

    private static let places = 16
    private static let keySize = 48
    private static let largestValue = 256

    /// Nil if values of this type are not kept.
    init?<Value>(of type: Value.Type) {
        guard _isPOD(type), MemoryLayout<Value>.size <= Self.largestValue else { return nil }
        self.type = ObjectIdentifier(type)
        stride = MemoryLayout<Value>.stride
        keys = .allocate(byteCount: Self.places * Self.keySize, alignment: 8)
        keys.initializeMemory(as: UInt8.self, repeating: 0, count: Self.places * Self.keySize)
        values = .allocate(byteCount: Self.places * stride, alignment: MemoryLayout<Value>.alignment)
    }

    deinit {
        keys.deallocate()
        values.deallocate()
    }

    /// The value of these bytes, if it is kept.
    func value<Value>(of bytes: UnsafeRawBufferPointer, as type: Value.Type) -> Value? {
        guard let place = place(of: bytes), ObjectIdentifier(type) == self.type else { return nil }
        let key = keys + place * Self.keySize
        guard key.load(as: UInt8.self) == bytes.count else { return nil }
        for index in 0..<bytes.count where bytes[index] != (key + 1).load(fromByteOffset: index, as: UInt8.self) { return nil }
        return (values + place * stride).load(as: type)
    }

    /// Keeps a value, in the place of an older one.
    func keep<Value>(_ value: Value, of bytes: UnsafeRawBufferPointer) {
        guard let place = place(of: bytes), ObjectIdentifier(Value.self) == type else { return }
        let key = keys + place * Self.keySize
        key.storeBytes(of: UInt8(bytes.count), as: UInt8.self)
        (key + 1).copyMemory(from: bytes.baseAddress ?? UnsafeRawPointer(key), byteCount: bytes.count)
        (values + place * stride).initializeMemory(as: Value.self, repeating: value, count: 1)
    }

    /// Nil if there are too many bytes. Values that differ mostly do so in the last one.
    private func place(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count < Self.keySize, let last = bytes.last else { return nil }
        return (Int(last) ^ bytes.count) & (Self.places - 1)
    }
}
