/// What was read, as an error repeats it: at most its first 40 scalars, because it may be as long as the whole input.
func quote(_ text: String) -> String {
    let shown = String(text.unicodeScalars.prefix(40))
    return shown.utf8.count < text.utf8.count ? "\(shown)…" : shown
}

/// The errors, made out of line so that the reads stay small.
///
/// They change nothing, but are mutating as the reads are: for another method a read would copy the whole reader, and before it knows
/// whether there is an error.
extension MessagePackReader {
    @usableFromInline @inline(never)
    mutating func truncated() -> MessagePackError {
        if bytes.count > limits.maximumBytes {
            let message = "\(bytes.count) bytes are more than the limit of \(limits.maximumBytes)"
            return MessagePackError(.tooLarge, message, offset: 0)
        }
        return MessagePackError(.truncated, "the bytes end inside a value", offset: position)
    }

    @usableFromInline @inline(never)
    mutating func neverUsed() -> MessagePackError {
        MessagePackError(.invalidFormat, "0xc1 begins no value", offset: position)
    }

    @usableFromInline @inline(never)
    mutating func tooDeep() -> MessagePackError {
        let message = "values are nested deeper than the limit of \(limits.maximumDepth)"
        return MessagePackError(.tooDeep, message, offset: position)
    }

    @usableFromInline @inline(never)
    mutating func mismatch(_ expected: String) -> MessagePackError {
        guard next < end else { return truncated() }
        guard MessagePackType(firstByte: bytes[next]) != nil else { return neverUsed() }
        return MessagePackError(.typeMismatch, "expected \(expected), found \(describeNext())", offset: position)
    }

    @usableFromInline @inline(never)
    mutating func outOfRange<T: FixedWidthInteger>(_ type: T.Type) -> MessagePackError {
        MessagePackError(.outOfRange, "expected an integer from \(T.min) to \(T.max), found another one", offset: position)
    }

    /// The next value in a few words, for errors: `an integer`, `a map of 3`. Never what it is: errors are logged, sent and kept,
    /// and it may be a secret.
    func describeNext() -> String {
        guard next < end, let type = MessagePackType(firstByte: bytes[next]) else { return "no value" }
        var reader = self
        do {
            switch type {
            case .nil, .bool, .integer, .float: return type.description
            case .string:
                let count = try reader.readString().utf8.count
                return "a string of \(count) byte\(count == 1 ? "" : "s")"
            case .binary: return "binary data of \(try reader.readBinary().count) bytes"
            case .array: return "an array of \(try reader.readArrayHeader())"
            case .map: return "a map of \(try reader.readMapHeader())"
            case .extension: return "an extension of type \(try reader.readExtension().type)"
            }
        } catch {
            // The rest of it is malformed, which is another error than the one described here.
            return type.description
        }
    }
}
