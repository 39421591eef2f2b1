/// The names that a type of keys, or an enum with raw values, allows; nil if it cannot be known.

func allowedNames<Key: CodingKey>(of type: Key.Type) -> [String]? {
    let cases = (type as? any CaseIterable.Type)?.allCases as? [Key]
    return (cases ?? enumCases(of: type))?.map(\.stringValue)
}

/// The raw values of an enum such as `enum Input: String { case increment }`.
func allowedRawValues(of type: any Any.Type) -> [String]? {
    guard let type = type as? any RawRepresentable.Type else { return nil }
    return rawValues(of: type)
}

private func rawValues<T: RawRepresentable>(of type: T.Type) -> [String]? {
    enumCases(of: type)?.map { "\($0.rawValue)" }
}
