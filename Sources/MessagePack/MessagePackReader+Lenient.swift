/// Numbers and bytes in another form than their own.
extension MessagePackReader {
    @usableFromInline
    mutating func readIntegralFloat<T: FixedWidthInteger>() throws(MessagePackError) -> T {
        let type = try nextType()
        guard type != .integer else { throw truncated() }
        guard isLenient, type == .float else { throw mismatch("an integer") }
        let start = next
        let value = try readDouble()
        // By conversion, not by rounding: that is a function of libm, which the standard library alone does not link.
        if value >= -0x1p63, value < 0x1p63 {
            let whole = Int64(value)
            guard Double(whole) == value else {
                next = start
                throw mismatch("an integer")
            }
            if let result = T(exactly: whole) { return result }
        } else if value >= 0x1p63, value < 0x1p64, let result = T(exactly: UInt64(value)) {
            return result
        }
        next = start
        throw outOfRange(T.self)
    }

    @usableFromInline
    mutating func readIntegerAsDouble() throws(MessagePackError) -> Double {
        guard isLenient, try nextType() == .integer else { throw mismatch("a float") }
        if let value = try integer(as: Int64.self) { return Double(value) }
        return Double(try readUInt64())
    }

    @usableFromInline
    mutating func readFloatFromDouble() throws(MessagePackError) -> Float {
        let start = next
        let value = try readDouble()
        let result = Float(value)
        guard isLenient || value.isNaN || Double(result) == value else {
            next = start
            throw MessagePackError(.outOfRange, "a float is not exactly one of 32 bits", offset: position)
        }
        return result
    }

    @usableFromInline
    mutating func readBase64() throws(MessagePackError) -> [UInt8] {
        guard isLenient, try nextType() == .string else { throw mismatch("binary data") }
        let content = try stringContent()
        guard let value = decodeBase64(bytes[content]) else {
            throw MessagePackError(.invalidValue, "a string is not base64", offset: position)
        }
        next = content.upperBound
        return value
    }

    /// Reads an integer, or consumes nothing and returns nil if it does not fit.
    mutating func integer<T: FixedWidthInteger>(as type: T.Type) throws(MessagePackError) -> T? {
        do {
            return try readInteger(as: type)
        } catch  where error.code == .outOfRange {
            return nil
        }
    }
}

/// Decodes base64 (RFC 4648 §4), or returns nil unless the text is exactly what an encoder writes.
func decodeBase64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count.isMultiple(of: 4) else { return nil }
    let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    var result: [UInt8] = []
    result.reserveCapacity(text.count / 4 * 3)
    var bits: UInt32 = 0
    var count = 0
    for character in text.dropLast(padding) {
        guard let sextet = base64Sextet(character) else { return nil }
        bits = bits << 6 | UInt32(sextet)
        count += 6
        if count >= 8 {
            count -= 8
            result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
    }
    // What is left of the last sextet must be zero, so that one value has one text.
    return bits & ((1 << UInt32(count)) - 1) == 0 ? result : nil
}

private func base64Sextet(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
}
