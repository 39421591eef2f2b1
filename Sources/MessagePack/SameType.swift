// Generic code that found out which type a value has: a cast by the runtime takes hundreds of instructions, these a comparison.

/// The value if the two types are one.
@inline(__always)
func same<Value, Same>(_ value: Value, as type: Same.Type) -> Same? {
    Value.self == type ? _identityCast(value, to: type) : nil
}

/// The value as the type that it has; of an object that may be a subclass.
@inline(__always)
func known<Value, Known>(_ value: Value, as type: Known.Type = Known.self) -> Known {
    Value.self == type ? _identityCast(value, to: type) : subclass(value)
}

@inline(never)
private func subclass<Value, Known>(_ value: Value) -> Known {
    guard let object = value as? Known else { preconditionFailure("\(Value.self) is no \(Known.self)") }
    return object
}
