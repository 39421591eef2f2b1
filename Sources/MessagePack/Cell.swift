/// A value in memory of its own, which only its owner reaches, and never while it is changed already: so no access needs the check at run
/// time for overlapping another, as a property of a class does.
@usableFromInline
package struct Cell<Value: ~Copyable>: ~Copyable {
    @usableFromInline let address: UnsafeMutablePointer<Value>

    @inlinable
    package init(_ value: consuming Value) {
        address = .allocate(capacity: 1)
        address.initialize(to: value)
    }

    @inlinable
    deinit {
        address.deinitialize(count: 1)
        address.deallocate()
    }

    @inlinable
    package var value: Value {
        @inline(__always) _read { yield address.pointee }
        @inline(__always) nonmutating _modify { yield &address.pointee }
    }
}
