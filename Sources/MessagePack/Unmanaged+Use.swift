/// References that are not counted, because something else is known to hold the object: to count one takes a locked instruction at each
/// end, and the smallest value would take a hundred.
extension Unmanaged {
    @inline(__always)
    func with<Result>(_ body: (Instance) throws -> Result) rethrows -> Result {
        try _withUnsafeGuaranteedRef(body)
    }

    /// Whether exactly one reference to the object is counted.
    var isHeldOnce: Bool {
        var reference = self
        // Both kinds of reference are the address of the object.
        return withUnsafeMutablePointer(to: &reference) {
            $0.withMemoryRebound(to: Instance.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
        }
    }
}
