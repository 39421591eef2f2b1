import FlyingSocks

/// The text of an answer behind which its connection ends: what is left of a request's body would be read as the next request. FlyingFox
/// closes a connection whose answer fails.
struct LastAnswer: AsyncBufferedSequence {
    typealias Element = UInt8

    struct End: Error {}

    struct Iterator: AsyncBufferedIteratorProtocol {
        var left: ArraySlice<UInt8>

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        mutating func nextBuffer(suggested count: Int) async throws -> ArraySlice<UInt8>? {
            guard !left.isEmpty else { throw End() }
            defer { left = left.dropFirst(count) }
            return left.prefix(count)
        }
    }

    let bytes: [UInt8]

    func makeAsyncIterator() -> Iterator { Iterator(left: bytes[...]) }
}
