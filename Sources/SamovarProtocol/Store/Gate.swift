import DequeModule

/// The gate: what a turn caused leaves the process when the turn is on disk, and not earlier.
///
/// Whatever tells of a turn waits here with the number of that turn as its floor. The queue is one and in order, so that a
/// peer sees view, effects and answers in the order in which turns made them. A floor below that of what waits before it
/// costs nothing but a little patience.
struct Gate<Item> {
    /// The number of the newest turn on disk.
    private(set) var durable = 0
    private var waiting: Deque<(floor: Int, item: Item)> = []

    var isEmpty: Bool { waiting.isEmpty }
    var count: Int { waiting.count }

    init(durable: Int) {
        self.durable = durable
    }

    /// Returns the item if it may leave now, else keeps it.
    mutating func pass(_ item: Item, floor: Int) -> Item? {
        if waiting.isEmpty && floor <= durable { return item }
        waiting.append((max(floor, waiting.last?.floor ?? floor), item))
        return nil
    }

    /// Notes that the journal holds everything up to `turn`, and returns what may leave now, in order.
    mutating func open(to turn: Int) -> [Item] {
        durable = max(durable, turn)
        var items: [Item] = []
        while let first = waiting.first, first.floor <= durable {
            items.append(first.item)
            waiting.removeFirst()
        }
        return items
    }
}
