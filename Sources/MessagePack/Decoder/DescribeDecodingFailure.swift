/// Puts the failure to decode a value of a type into a sentence for people, with what would have been right.
///
/// - `unknown case "foo" for Input; allowed: increment, decrement`
/// - `missing field "root" in Seed; allowed: root, minimumSize`
/// - `field "items[3].count": expected an integer, found a string of 1 byte`
///
/// It takes the errors of ``MessagePackDecoder``. For those of another decoder it says as much as they tell.
public func describe(decodingFailure error: any Error, of type: any Decodable.Type) -> String {
    guard let error = error as? DecodingError else {
        if let error = error as? MessagePackError { return "not a MessagePack value: \(error)" }
        return "\(error)"
    }
    switch error {
    case .keyNotFound(let key, let context):
        let keys: any CodingKey.Type = Swift.type(of: key)
        let failure = DecodingFailure.missingField(
            key.stringValue, of: context.codingPath.isEmpty ? "\(type)" : "the value", allowed: allowedNames(of: keys))
        return text(of: context, failure)
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        return text(of: context, nil)
    @unknown default:
        return "\(error)"
    }
}

private func text(of context: DecodingError.Context, _ failure: DecodingFailure?) -> String {
    if let known = context.underlyingError as? DecodingFailure { return known.text(at: context.codingPath) }
    if let failure { return failure.text(at: context.codingPath) }
    // The decoder's own text already names the field.
    if context.underlyingError is MessagePackError || context.codingPath.isEmpty { return context.debugDescription }
    return "field \"\(describe(path: context.codingPath))\": \(context.debugDescription)"
}
