/// Which elements of a sequence are which of a later one.
enum Alignment {
    enum Pair: Equatable {
        /// The same element, perhaps changed; both places.
        case both(Int, Int)
        case removed(Int)
        case inserted(Int)
    }

    /// Above it, what is between the equal ends is compared place by place: a table of this many cells takes 4 MiB.
    static let maximumCells = 1 << 20

    /// Equal elements in the same order, as many as can be; between two of them, what was removed and what was inserted are taken for changed
    /// elements, one by one, and what is left of either for removed or inserted.
    static func pairs<Element: Hashable>(of one: [Element], and other: [Element]) -> [Pair] {
        let shorter = min(one.count, other.count)
        var begin = 0
        while begin < shorter, one[begin] == other[begin] { begin += 1 }
        var end = 0
        while end < shorter - begin, one[one.count - 1 - end] == other[other.count - 1 - end] { end += 1 }
        let (a, b) = (begin..<one.count - end, begin..<other.count - end)
        let equal = a.count.multipliedReportingOverflow(by: b.count)
        var matches: [(Int, Int)] = (0..<begin).map { ($0, $0) }
        if !equal.overflow, equal.partialValue <= maximumCells { matches += common(numbered(one[a], other[b]), a, b) }
        matches += (0..<end).reversed().map { (one.count - 1 - $0, other.count - 1 - $0) }

        var pairs: [Pair] = []
        var (i, j) = (0, 0)
        for (x, y) in matches + [(one.count, other.count)] {
            while i < x, j < y {
                pairs.append(.both(i, j))
                (i, j) = (i + 1, j + 1)
            }
            while i < x {
                pairs.append(.removed(i))
                i += 1
            }
            while j < y {
                pairs.append(.inserted(j))
                j += 1
            }
            guard x < one.count || y < other.count else { break }
            if x < one.count, y < other.count { pairs.append(.both(x, y)) }
            (i, j) = (x + 1, y + 1)
        }
        return pairs
    }

    /// Equal elements get equal numbers, so that each is looked at once, however large it is.
    private static func numbered<Element: Hashable>(
        _ one: ArraySlice<Element>, _ other: ArraySlice<Element>
    ) -> (one: [Int32], other: [Int32]) {
        var numbers: [Element: Int32] = [:]
        func number(_ element: Element) -> Int32 {
            if let known = numbers[element] { return known }
            let new = Int32(numbers.count)
            numbers[element] = new
            return new
        }
        return (one.map(number), other.map(number))
    }

    /// A longest common subsequence, as places in both.
    private static func common(_ numbers: (one: [Int32], other: [Int32]), _ a: Range<Int>, _ b: Range<Int>) -> [(Int, Int)] {
        let (one, other) = numbers
        let width = other.count + 1
        // In row i and column j: how long one is of what follows there.
        var table = [Int32](repeating: 0, count: (one.count + 1) * width)
        for i in one.indices.reversed() {
            for j in other.indices.reversed() {
                table[i * width + j] =
                    one[i] == other[j]
                    ? table[(i + 1) * width + j + 1] + 1 : max(table[(i + 1) * width + j], table[i * width + j + 1])
            }
        }
        var matches: [(Int, Int)] = []
        var (i, j) = (0, 0)
        while i < one.count, j < other.count {
            if one[i] == other[j] {
                matches.append((a.lowerBound + i, b.lowerBound + j))
                (i, j) = (i + 1, j + 1)
            } else if table[(i + 1) * width + j] >= table[i * width + j + 1] {
                i += 1
            } else {
                j += 1
            }
        }
        return matches
    }
}
