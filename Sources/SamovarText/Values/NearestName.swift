/// The name that was most likely meant by a misspelt one, or nil if none is close: at most a third of the longer may differ.
package func nearest(to word: String, among names: [String]) -> String? {
    // A word far longer than every name is none of them, and would only cost time; so would a name far longer than any such word.
    guard word.utf8.count <= 100 else { return nil }
    let length = word.count
    let closest = names.filter { $0.utf8.count <= 600 && canBeClose(length, $0.count) }
        .map { (name: $0, distance: editDistance(word.lowercased(), $0.lowercased())) }
        .min { $0.distance < $1.distance }
    guard let closest, closest.distance * 3 <= max(closest.name.count, word.count) else { return nil }
    return closest.name
}

/// Whether texts of these lengths can be close: what the longer one has more of differs.
private func canBeClose(_ a: Int, _ b: Int) -> Bool { abs(a - b) * 3 <= max(a, b) }

/// How many characters must be inserted, removed or replaced to make one text of the other.
private func editDistance(_ a: String, _ b: String) -> Int {
    let b = Array(b)
    // Row i of the table has the distances of the first i characters of `a` to each beginning of `b`.
    var row = Array(0...b.count)
    for (index, character) in a.enumerated() {
        var above = row[0]
        row[0] = index + 1
        for column in b.indices {
            let replaced = above + (character == b[column] ? 0 : 1)
            above = row[column + 1]
            row[column + 1] = min(replaced, above + 1, row[column] + 1)
        }
    }
    return row[b.count]
}
