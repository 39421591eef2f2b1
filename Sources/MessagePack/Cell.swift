/// A value in memory of its own, which only its owner reaches, and no code of a user meanwhile: so no access needs the check at run time
/// for overlapping another, as a property of a class does.
struct Cell<Value: ~Copyable>: ~Copyable {
    private let address: UnsafeMutablePointer<Value>

    init(_ value: consuming Value) {
        address = .allocate(capacity: 1)
        address.initialize(to: value)
    }

    deinit {
        address.deinitialize(count: 1)
        address.deallocate()
    }

    var value: Value {
        @inline(__always) _read { yield address.pointee }
        @inline(__always) nonmutating _modify { yield &address.pointee }
    }
}
