/// A reference that is not counted, because something else is known to hold the object: to count one takes a locked instruction at each end,
/// and the smallest value would take a hundred.
struct Uncounted<Object: AnyObject> {
    private var reference: Unmanaged<Object>

    /// Whoever has the reference does not use it beyond the life of the object.
    init(_ object: Object) {
        reference = .passUnretained(object)
    }

    @inline(__always)
    func with<Result>(_ body: (Object) throws -> Result) rethrows -> Result {
        try reference._withUnsafeGuaranteedRef(body)
    }

    /// The same reference as one that is counted.
    var counted: Object { reference.takeUnretainedValue() }

    /// Whether exactly one reference to the object is counted.
    var isHeldOnce: Bool {
        var reference = reference
        // Both kinds of reference are the address of the object.
        return withUnsafeMutablePointer(to: &reference) {
            $0.withMemoryRebound(to: Object.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
        }
    }
}
