import Foundation

/// Lends memory for something secret, and overwrites it afterwards.
///
/// ```swift
/// let key = withSecretBytes(40) { text in … }
/// ```
public func withSecretBytes<Result: ~Copyable, Failure: Error>(
    _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
) throws(Failure) -> Result {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    bytes.initializeMemory(as: UInt8.self, repeating: 0)
    defer {
        overwrite(bytes)
        bytes.deallocate()
    }
    return try body(bytes)
}

/// With zeros, and so that no compiler leaves it out because nobody reads them.
func overwrite(_ bytes: UnsafeMutableRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    #if canImport(Darwin)
    memset_s(start, bytes.count, 0, bytes.count)
    #else
    explicit_bzero(start, bytes.count)
    #endif
}
