import DequeModule

/// The gate: what a turn caused leaves the process when the turn is on disk, and not earlier.
///
/// Whatever tells of a turn waits here with the newest turn of its time as its floor. Floors never fall, so nothing that may leave finds
/// another before it that may not: a peer sees view, effects and answers in the order in which turns made them.
struct Gate<Item> {
    /// The number of the newest turn on disk.
    private(set) var durable: Int
    /// Nothing leaves, whatever is on disk.
    private(set) var isHeld = false
    private var waiting: Deque<(floor: Int, item: Item)> = []

    var isEmpty: Bool { waiting.isEmpty }
    /// For which turn the last of them waits; nil if there is none.
    var newest: Int? { waiting.last?.floor }

    init(durable: Int) {
        self.durable = durable
    }

    /// Returns the item if it may leave now, else keeps it.
    ///
    /// - Parameter floor: no smaller than that of any item before it.
    mutating func pass(_ item: Item, floor: Int) -> Item? {
        precondition(floor >= waiting.last?.floor ?? floor, "turns are told of in order")
        if floor <= durable, !isHeld { return item }
        waiting.append((floor, item))
        return nil
    }

    /// Notes that the journal holds everything up to `turn`, and returns what may leave now, in order.
    mutating func open(to turn: Int) -> [Item] {
        durable = max(durable, turn)
        return takeOpen()
    }

    /// Keeps everything from leaving, or returns what may leave now, in order.
    mutating func hold(_ isHeld: Bool) -> [Item] {
        self.isHeld = isHeld
        return takeOpen()
    }

    /// Takes out what shall not leave any more. It looks at all that wait.
    mutating func removeAll(where isSuperfluous: (Item) -> Bool) {
        waiting.removeAll { isSuperfluous($0.item) }
    }

    private mutating func takeOpen() -> [Item] {
        guard !isHeld else { return [] }
        var items: [Item] = []
        while let first = waiting.first, first.floor <= durable {
            items.append(first.item)
            waiting.removeFirst()
        }
        return items
    }
}
