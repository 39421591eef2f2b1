/// The cases of an enum that does not conform to `CaseIterable`.
///
/// An error about a misspelt name is only a help if it lists the right ones, and Swift synthesises coding keys as an enum
/// which cannot be asked for its cases. So this reads their number from the type's metadata, whose layout is part of
/// Swift's stable ABI (`docs/ABI/TypeMetadata.rst` in the Swift repository), and makes each case from its tag. Only for
/// enums without associated values that fit a byte; of every other type nothing is said.
func enumCases<T>(of type: T.Type) -> [T]? {
    guard let count = emptyCaseCount(of: type), MemoryLayout<T>.size == (count > 1 ? 1 : 0), count <= 256 else { return nil }
    let place = UnsafeMutablePointer<T>.allocate(capacity: 1)
    defer { place.deallocate() }
    return (0..<count).map { tag in
        // The cases of such an enum are the tags from 0, in the order of their declaration. A single case has no bytes.
        if count > 1 { UnsafeMutableRawPointer(place).storeBytes(of: UInt8(tag), as: UInt8.self) }
        return place.pointee
    }
}

/// Whether a type is an enum other than an optional.
func isEnum(_ type: any Any.Type) -> Bool {
    #if _pointerBitWidth(_64)
    return unsafeBitCast(type, to: UnsafeRawPointer.self).load(as: UInt.self) == Metadata.enumKind
    #else
    return false
    #endif
}

/// The number of cases of an enum all of whose cases are without associated values.
private func emptyCaseCount(of type: any Any.Type) -> Int? {
    guard isEnum(type) else { return nil }
    let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
    guard let descriptor = metadata.load(fromByteOffset: Metadata.descriptor, as: UnsafeRawPointer?.self),
        descriptor.load(as: UInt32.self) & Metadata.kindMask == Metadata.enumDescriptorKind,
        descriptor.load(fromByteOffset: Metadata.payloadCases, as: UInt32.self) & Metadata.payloadCasesMask == 0
    else { return nil }
    return Int(descriptor.load(fromByteOffset: Metadata.emptyCases, as: UInt32.self))
}

private enum Metadata {
    static let enumKind: UInt = 0x201
    /// The offset of the type's descriptor in its metadata.
    static let descriptor = 8
    /// The descriptor's flags tell its kind in the low five bits.
    static let kindMask: UInt32 = 0x1f
    static let enumDescriptorKind: UInt32 = 18
    /// After flags, parent, name, access function and fields, four bytes each.
    static let payloadCases = 20
    static let payloadCasesMask: UInt32 = 0xff_ffff
    static let emptyCases = 24
}
