/// Where a keyed container finds the node that its values go to or come from.
final class ContainerPlace<Node: AnyObject> {
    /// Not counted: a node takes its containers back before it ends, and where somebody still has one, it is counted from then on.
    @exclusivity(unchecked) private var current: Unmanaged<Node>
    @exclusivity(unchecked) private var counted: Node?

    /// The place of a container that is not kept.
    init(_ node: Node) {
        current = Unmanaged.passUnretained(node)
        counted = node
    }

    @inline(__always)
    func withNode<Result>(_ body: (Node) throws -> Result) rethrows -> Result {
        try current._withUnsafeGuaranteedRef(body)
    }

    fileprivate func set(_ node: Node, isCounted: Bool) {
        current = Unmanaged.passUnretained(node)
        counted = isCounted ? node : nil
    }
}

/// A keyed container that can be handed out again, with another node in its place.
///
/// The standard library puts each container into a box, and looks up the box's type in the runtime: that, and to make and free it, takes
/// longer than all that a small value does with it.
class KeptContainer<Node: AnyObject> {
    fileprivate let keys: any CodingKey.Type
    fileprivate let place: ContainerPlace<Node>
    /// What the container is a reference to, and nothing else: so its count tells whether somebody else has the container.
    @exclusivity(unchecked) private var box: Unmanaged<AnyObject>
    /// The next one that the same node has handed out, or that is kept for the same keys.
    @exclusivity(unchecked) fileprivate var next: KeptContainer?
    /// How many the node has handed out that it takes back, this one included.
    @exclusivity(unchecked) fileprivate var number = 0

    fileprivate init(_ keys: any CodingKey.Type, _ place: ContainerPlace<Node>, _ box: AnyObject) {
        self.keys = keys
        self.place = place
        self.box = Unmanaged.passUnretained(box)
    }

    /// Whether nobody else has the container.
    fileprivate var isAlone: Bool {
        withUnsafeMutableBytes(of: &box) { isKnownUniquelyReferenced(&$0.assumingMemoryBound(to: AnyObject.self)[0]) }
    }
}

/// The same with its type, which an object of this class knows: who calls its methods need not ask the runtime for it.
final class TypedContainer<Node: AnyObject, Container>: KeptContainer<Node> {
    private let container: Container

    fileprivate init(_ container: Container, _ keys: any CodingKey.Type, _ place: ContainerPlace<Node>) {
        self.container = container
        super.init(keys, place, unsafeBitCast(container, to: AnyObject.self))
    }

    @inline(never)
    func copy() -> Container { container }
}

/// The containers of one session that nobody has, by the type of their keys.
final class KeptContainers<Node: AnyObject> {
    private final class Row {
        @exclusivity(unchecked) var first: KeptContainer<Node>?
        @exclusivity(unchecked) var count = 0
    }

    /// Of one node, and of those that nobody has for one type of keys. Further ones are let go of: a list is released by recursion, and
    /// is kept as long as its session.
    private static var most: Int { 16 }

    @exclusivity(unchecked) private var rows = TypeTable<Row>()

    /// Hands out a container for such keys, if there is one that nobody has, and notes it among those that are to be given back.
    func take(for keys: any CodingKey.Type, _ node: Node, _ taken: inout KeptContainer<Node>?) -> KeptContainer<Node>? {
        guard (taken?.number ?? 0) < Self.most else { return nil }
        let row = rows.finding(about: keys) { Row() }
        guard let kept = row.first.take() else { return nil }
        row.first = kept.next.take()
        row.count -= 1
        note(kept, of: node, &taken)
        return kept
    }

    /// Notes a new container, which is to be given back.
    func add<Container>(
        _ container: Container, for keys: any CodingKey.Type, _ place: ContainerPlace<Node>, _ node: Node,
        _ taken: inout KeptContainer<Node>?
    ) {
        guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size, (taken?.number ?? 0) < Self.most else { return }
        note(TypedContainer(container, keys, place), of: node, &taken)
    }

    private func note(_ kept: KeptContainer<Node>, of node: Node, _ taken: inout KeptContainer<Node>?) {
        kept.place.set(node, isCounted: false)
        kept.number = (taken?.number ?? 0) + 1
        kept.next = taken.take()
        taken = kept
    }

    /// Takes the containers of a node back. Those that somebody still has keep the node.
    func takeBack(_ taken: inout KeptContainer<Node>?, of node: Node) {
        while let kept = taken.take() {
            taken = kept.next.take()
            guard kept.isAlone else {
                kept.place.set(node, isCounted: true)
                continue
            }
            let row = rows.finding(about: kept.keys) { Row() }
            guard row.count < Self.most else { continue }
            kept.next = row.first.take()
            row.first = kept
            row.count += 1
        }
    }
}
