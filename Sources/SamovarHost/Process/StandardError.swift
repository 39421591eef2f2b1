import Foundation

/// One line for the person at a terminal, from what works without a logger.
package func sayOnStandardError(_ line: String) {
    // Where nobody reads, nobody misses it.
    try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
}
