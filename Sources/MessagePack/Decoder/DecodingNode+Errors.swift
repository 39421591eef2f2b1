/// The errors: each names the field, and what would have been right.
extension DecodingNode {
    func codingPath(at step: PathStep) -> [any CodingKey] {
        codingPath + [step.codingKey(in: reader.bytes)].compactMap { $0 }
    }

    /// The error for a value which is not what was asked for. Bytes that are no MessagePack keep the reader's own error.
    func failure(
        _ error: MessagePackError, _ expected: String, _ type: any Any.Type, _ step: PathStep
    ) -> any Error {
        switch error.code {
        case .typeMismatch:
            let failure = DecodingFailure.unexpected(expected: expected, found: reader.describeNext())
            return DecodingError.typeMismatch(type, context(failure, at: step))
        default:
            return refusal(error, type, step)
        }
    }

    /// The error for a value which says itself what is wrong with it.
    func refusal(_ error: MessagePackError, _ type: any Any.Type, _ step: PathStep) -> any Error {
        guard [.typeMismatch, .outOfRange, .invalidValue].contains(error.code) else { return error }
        let path = codingPath(at: step)
        let text = (path.isEmpty ? "" : "field \"\(describe(path: path))\": ") + error.message
        let context = DecodingError.Context(codingPath: path, debugDescription: text, underlyingError: error)
        return error.code == .typeMismatch ? DecodingError.typeMismatch(type, context) : .dataCorrupted(context)
    }

    func missing(_ key: some CodingKey) -> DecodingError {
        let failure = DecodingFailure.missingField(key.stringValue, of: subjectName, allowed: allowed)
        return .keyNotFound(key, context(failure))
    }

    /// The error for an array which has no more elements.
    func exhausted(_ type: any Any.Type) -> DecodingError {
        let failure = DecodingFailure.unexpected(expected: "an element", found: "the end of an array of \(count)")
        return .valueNotFound(type, context(failure, at: .index(count)))
    }

    func repeatedKey(at offset: Int) -> DecodingError {
        let text = "the key \"\(describe(path: codingPath(at: .entry(offset))))\" occurs twice"
        return .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: text))
    }

    func unpaired() -> DecodingError {
        let failure = DecodingFailure.unexpected(expected: "keys and values in turn", found: "an array of \(count)")
        return .typeMismatch([Any].self, context(failure))
    }

    /// The fields the value may have, as far as the key types can tell.
    var allowed: [String]? {
        var names: [String] = []
        for type in keyTypes {
            guard let more = allowedNames(of: type) else { return nil }
            names += more
        }
        return names
    }

    /// Refuses the first field which is a key of no container that was asked for, if there is one.
    mutating func refuseUnknownFields() throws {
        for key in try keys() {
            if let name = name(at: key), keyTypes.contains(where: { $0.init(stringValue: name) != nil }) { continue }
            let failure = DecodingFailure.unknownField(name(at: key) ?? description(at: key), of: subjectName, allowed: allowed)
            throw DecodingError.dataCorrupted(context(failure))
        }
    }

    /// What an enum's own error does not tell: the case that was found, and those there are.
    func explain(_ error: DecodingError) -> DecodingError {
        switch error {
        case .typeMismatch(let type, let context) where type == subject && keyType != nil && context.underlyingError == nil:
            return explainCases(context) ?? error
        case .dataCorrupted(let context) where context.underlyingError == nil && content == .unopened:
            guard let allowed = allowedRawValues(of: subject) else { return error }
            let found = name(at: offset) ?? description(at: offset)
            return .dataCorrupted(self.context(.unknownCase(found, of: subjectName, allowed: allowed)))
        default:
            return error
        }
    }

    private func explainCases(_ context: DecodingError.Context) -> DecodingError? {
        guard isEnum(subject), content == .map else { return nil }
        guard count == 1 else {
            let failure = DecodingFailure.notOneCase(count: count, of: subjectName, allowed: allowed)
            return .typeMismatch(subject, self.context(failure))
        }
        let found = name(at: start) ?? description(at: start)
        return .typeMismatch(subject, self.context(.unknownCase(found, of: subjectName, allowed: allowed)))
    }

    private func context(_ failure: DecodingFailure, at step: PathStep = .same) -> DecodingError.Context {
        let path = codingPath(at: step)
        return DecodingError.Context(
            codingPath: path, debugDescription: failure.text(at: path), underlyingError: failure)
    }

    private func description(at offset: Int) -> String {
        var reader = self.reader
        reader.next = offset
        return reader.describeNext()
    }

    /// The name of the type, or for the values of an enum's case that of the case: `Input.add`.
    private var subjectName: String {
        guard isNested, let parent = above else { return "\(subject)" }
        return "\(parent.pointee.subjectName).\(quote(step.codingKey(in: reader.bytes)?.stringValue ?? ""))"
    }
}
