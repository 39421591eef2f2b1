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
        var pairs: [Pair] = []
        var (i, j) = (0, 0)
        for (x, y) in common(numbered(one, other)) + [(one.count, other.count)] {
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
        _ one: [Element], _ other: [Element]
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
    private static func common(_ numbers: (one: [Int32], other: [Int32])) -> [(Int, Int)] {
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
                matches.append((i, j))
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
