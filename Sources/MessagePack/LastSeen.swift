/// Knows whether the same bytes come twice in a row: those of values that are nothing but bits, or of what was encoded.
///
/// What a program orders, and what it is told, is often what it was before, as a tick or the next step is. A codec then does not code it once
/// more: to compare the bytes takes a tenth of that, and values that differ cost little more for it.
struct LastSeen: ~Copyable {
    static var largestCount: Int { 64 }

    private let place = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.largestCount, alignment: 8)
    /// Negative as long as nothing was seen that could come again.
    private var count = -1

    deinit { place.deallocate() }

    /// Whether these are the last ones. If not, they are from now on, unless they are too many.
    mutating func isRepeated(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if bytes.count == count, areEqual(bytes, UnsafeRawBufferPointer(rebasing: place[..<count])) { return true }
        if bytes.count <= Self.largestCount {
            count = bytes.count
            place.copyMemory(from: bytes)
        } else {
            count = -1
        }
        return false
    }

    mutating func forget() { count = -1 }
}
