/// How long a text may be that is kept, sent or logged and quotes what came from outside: an error, a reason, a failure.
///
/// Such a text may repeat all of a bad input, and some are kept until somebody confirms them. Whoever makes one out of something
/// that is not its own bounds it here.
package enum TextLimit {
    /// The most characters of a text.
    package static let characters = 1_000
    /// The most bytes of one character on average: a single one may be as long as the whole text.
    package static let bytesPerCharacter = 4
}

extension String {
    /// This text, or its beginning and how long it was.
    ///
    /// - Parameter limit: the most characters of the result, which has at most ``TextLimit/bytesPerCharacter`` times as many bytes.
    package func bounded(to limit: Int = TextLimit.characters) -> String {
        let bytes = limit * TextLimit.bytesPerCharacter
        // No text has more characters than bytes.
        guard utf8.count > limit, end(characters: limit, bytes: bytes) < endIndex else { return self }
        let mark = "… (\(utf8.count) bytes)"
        return self[..<end(characters: max(0, limit - mark.count), bytes: bytes - mark.utf8.count)] + mark
    }

    /// The end of the last character that is within both.
    private func end(characters: Int, bytes: Int) -> Index {
        let limit = utf8.index(startIndex, offsetBy: max(0, bytes), limitedBy: endIndex) ?? endIndex
        var end = startIndex
        for _ in 0..<characters where end < limit {
            let next = index(after: end)
            if next > limit { break }
            end = next
        }
        return end
    }
}
