/// How floats are written that are equal and have other bits, or are no numbers.
@usableFromInline
enum FloatForm: UInt8, Sendable {
    /// Each with its own bits.
    case exact
    /// Zeros with their sign, and every NaN as one NaN: which of them a computation gives is the compiler's and the processor's.
    case oneNaN
    /// Equal ones with equal bits, and every NaN as one NaN.
    case canonical
}

extension BinaryFloatingPoint {
    @inlinable @inline(__always)
    func written(as form: FloatForm) -> Self {
        switch form {
        case .exact: self
        case .oneNaN: isNaN ? .nan : self
        case .canonical: isNaN ? .nan : self == 0 ? 0 : self
        }
    }
}
