@_spi(Reflection) import Swift

/// The cases of an enum that does not conform to `CaseIterable`.
///
/// An error about a misspelt name is only a help if it lists the right ones, and Swift synthesises coding keys as an enum
/// which cannot be asked for its cases. Without associated values they are the numbers from 0 in one byte, in the order of their
/// declaration, and nil is the number after the last; a single case has no bytes (`docs/ABI/TypeLayout.rst` in the Swift repository).
///
/// An enum without cases has no bytes either. But only one that has cases, all without associated values, is hashable without saying
/// so. A key of no cases that says so must not be: it would be taken for one of a single case.
///
/// - Returns: nil for every type but enums without associated values that fit a byte.
func enumCases<T>(of type: T.Type) -> [T]? {
    guard isEnum(type) else { return nil }
    guard type is any Hashable.Type, type != Never.self else { return MemoryLayout<T>.size == 0 ? [] : nil }
    let count: Int
    switch (MemoryLayout<T>.size, MemoryLayout<T?>.size) {
    case (0, _): count = 1
    case (1, 1): count = withUnsafeBytes(of: T?.none) { Int($0[0]) }
    case (1, 2): count = 256
    default: return nil
    }
    func value(_ tag: Int) -> T {
        withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { place in
            place.storeBytes(of: UInt8(tag), as: UInt8.self)
            return place.load(as: T.self)
        }
    }
    // Those with associated values come first.
    return Mirror(reflecting: value(0)).children.isEmpty ? (0..<count).map(value) : nil
}

/// Whether a type is an enum other than an optional.
func isEnum(_ type: any Any.Type) -> Bool {
    func isEnum<T>(_ type: T.Type) -> Bool {
        var isEnum = false
        _ = _forEachField(of: Holder<T>.self) { _, _, _, kind in
            isEnum = kind == .enum
            return true
        }
        return isEnum
    }
    return _openExistential(type, do: isEnum)
}

/// Reflection tells the kinds of fields.
private struct Holder<Value> {
    let value: Value
}
