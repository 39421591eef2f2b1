/// The nodes of one session: structs that stay where they are for as long as the session lives, so that they can refer to each other
/// without counting references. To copy one would count all that it holds, so nodes had better not be copyable.
///
/// A node that is given back is handed out again as it is, with the memory that it has; whoever takes it lets it begin anew.
struct NodeArena<Node: ~Copyable>: ~Copyable {
    typealias Slot = UnsafeMutablePointer<Node>

    /// Nodes are made so many at a time.
    private static var chunk: Int { 8 }

    private var chunks: [Slot] = []
    private var free: [Slot] = []
    /// How many there are, whether handed out or not.
    private(set) var count = 0

    /// Hands out a node that nobody has.
    mutating func take(_ make: () -> Node) -> Slot {
        if let slot = free.popLast() { return slot }
        if count == chunks.count * Self.chunk { chunks.append(.allocate(capacity: Self.chunk)) }
        let slot = chunks[count / Self.chunk] + count % Self.chunk
        slot.initialize(to: make())
        count += 1
        return slot
    }

    /// Takes back a node to which nothing refers any more.
    mutating func giveBack(_ slot: Slot) { free.append(slot) }

    deinit {
        for (index, chunk) in chunks.enumerated() {
            chunk.deinitialize(count: min(count - index * Self.chunk, Self.chunk))
            chunk.deallocate()
        }
    }
}
