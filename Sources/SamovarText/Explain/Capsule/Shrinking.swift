/// Finds a small part of a list that still does what the whole did: delta debugging, by taking away ever smaller pieces.
///
/// Source: Zeller and Hildebrandt, “Simplifying and Isolating Failure-Inducing Input” (2002), `ddmin` without its tests of the pieces alone, which
/// rarely help where later inputs build on earlier ones.
struct Shrinking<Element> {
    /// Parts that are tried.
    static var maximumTries: Int { 5_000 }

    private(set) var elements: [Element]
    private(set) var tries = 0
    /// Whether it was ended before no single element could be taken away.
    private(set) var isCut = false

    init(_ elements: [Element]) {
        self.elements = elements
    }

    /// - Parameters:
    ///   - isOver: asked before each try.
    ///   - fails: what is left of a part, if that fails; else nil. It may leave out more, and never has more.
    mutating func run(until isOver: () -> Bool, _ fails: ([Element]) throws -> [Element]?) rethrows {
        var pieces = 2
        while !elements.isEmpty {
            let size = max(1, (elements.count + pieces - 1) / pieces)
            var wasReduced = false
            // The newest first: what came last is what others build on least.
            var end = elements.count
            while end > 0 {
                guard tries < Self.maximumTries, !isOver() else { return isCut = true }
                tries += 1
                let start = max(0, end - size)
                if let left = try fails(Array(elements[..<start] + elements[end...])) {
                    elements = left
                    wasReduced = true
                    end = min(start, elements.count)
                } else {
                    end = start
                }
            }
            if size == 1, !wasReduced { return }
            pieces = size == 1 ? elements.count : min(elements.count, pieces * 2)
        }
    }
}
