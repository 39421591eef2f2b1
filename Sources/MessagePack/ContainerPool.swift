/// Whether a container is a reference to an object and nothing else.
///
/// The standard library does not promise it, so one container of each kind is looked at: by reflection, which knows its fields, and by
/// comparing its bytes with the address of the object that was found. Where it says no, containers are not kept.
func isReference<Container>(_ container: Container) -> Bool {
    let mirror = Mirror(reflecting: container)
    // An enum may hold a reference at one time and none at another.
    guard MemoryLayout<Container>.size == MemoryLayout<UInt>.size, mirror.displayStyle == .struct, mirror.children.count == 1,
        let field = mirror.children.first?.value, type(of: field) is AnyClass
    else { return false }
    let object = UInt(bitPattern: ObjectIdentifier(field as AnyObject))
    return withUnsafeBytes(of: container) { $0.loadUnaligned(as: UInt.self) } == object
}

/// A keyed container that can be handed out again, with another node in its place.
///
/// The standard library puts each container into a box, and looks up the box's type in the runtime: that, and to make and free it, takes
/// longer than all that a small value does with it.
class PooledContainer<Session: AnyObject, Node: ~Copyable> {
    fileprivate let place: NodePlace<Session, Node>
    /// What the container is a reference to, and nothing else: so its count tells whether somebody else has the container.
    private let box: Uncounted<AnyObject>
    /// The row that holds it.
    fileprivate let row: UnsafeMutablePointer<ContainerPool<Session, Node>.Row>
    /// The next one that the same node has handed out, or that nobody has.
    fileprivate let next = Cell<Uncounted<PooledContainer>?>(nil)

    fileprivate init(
        _ box: AnyObject, _ place: NodePlace<Session, Node>, _ row: UnsafeMutablePointer<ContainerPool<Session, Node>.Row>
    ) {
        self.box = Uncounted(box)
        self.place = place
        self.row = row
    }

    /// Whether nobody else has the container.
    fileprivate var isAlone: Bool { box.isHeldOnce }
}

/// The same with its type, which an object of this class knows: who calls its methods need not ask the runtime for it.
final class TypedContainer<Session: AnyObject, Node: ~Copyable, Container>: PooledContainer<Session, Node> {
    private let container: Container

    fileprivate init(
        _ container: Container, _ place: NodePlace<Session, Node>, _ row: UnsafeMutablePointer<ContainerPool<Session, Node>.Row>
    ) {
        self.container = container
        super.init(withUnsafeBytes(of: container) { $0.load(as: AnyObject.self) }, place, row)
    }

    @inline(never)
    func copy() -> Container { container }
}

/// The containers of one session, by the type of their keys. They are held here and nowhere else.
final class ContainerPool<Session: AnyObject, Node: ~Copyable> {
    typealias Reference = Uncounted<PooledContainer<Session, Node>>

    struct Row {
        fileprivate var keys: ObjectIdentifier?
        fileprivate var containers: [PooledContainer<Session, Node>] = []
        /// The first one that nobody has.
        fileprivate var free: Reference?
    }

    /// An enum has a type of keys for each case. Containers of what is more, or finds no row near its own, are not kept.
    private static var size: Int { 128 }
    /// So many rows are looked at for a type.
    private static var reach: Int { 8 }

    private let rows: UnsafeMutablePointer<Row>

    init() {
        rows = .allocate(capacity: Self.size)
        rows.initialize(repeating: Row(), count: Self.size)
    }

    deinit {
        rows.deinitialize(count: Self.size)
        rows.deallocate()
    }

    /// The row of such keys, or the one that they may have; nil if others have all of them.
    @inline(__always)
    private func row(of keys: any CodingKey.Type) -> UnsafeMutablePointer<Row>? {
        let id = ObjectIdentifier(keys)
        let place = id.place(of: Self.size)
        for step in 0..<Self.reach {
            let row = rows + (place + step) % Self.size
            if row.pointee.keys == id || row.pointee.keys == nil { return row }
        }
        return nil
    }

    /// Hands out a container for such keys, if there is one that nobody has, and notes it among those that are to be given back.
    func take(for keys: any CodingKey.Type, _ node: NodePlace<Session, Node>.Slot, _ taken: inout Reference?) -> Reference? {
        guard let row = row(of: keys), let kept = row.pointee.free else { return nil }
        kept.with { container in
            row.pointee.free = container.next.value
            container.place.move(to: node)
            container.next.value = taken
        }
        taken = kept
        return kept
    }

    /// Whether a new container for such keys would be kept.
    func hasRoom(for keys: any CodingKey.Type) -> Bool { row(of: keys) != nil }

    /// Keeps a new container, which is to be given back, and of which ``isReference(_:)`` must say that it is one.
    func add<Container>(
        _ container: Container, for keys: any CodingKey.Type, _ place: NodePlace<Session, Node>, _ taken: inout Reference?
    ) {
        guard let row = row(of: keys) else { return }
        row.pointee.keys = ObjectIdentifier(keys)
        let kept = TypedContainer(container, place, row)
        row.pointee.containers.append(kept)
        kept.next.value = taken
        taken = Uncounted(kept)
    }

    /// Whether nobody has one of the containers of a node.
    func areAlone(_ taken: Reference?) -> Bool {
        var next = taken
        while let kept = next {
            guard kept.with({ $0.isAlone }) else { return false }
            next = kept.with { $0.next.value }
        }
        return true
    }

    /// Takes the containers of a node back, and says whether somebody still has one. Those are left to them.
    func takeBack(_ taken: inout Reference?) -> Bool {
        var isKept = false
        while let kept = taken {
            kept.with { container in
                taken = container.next.value
                let row = container.row
                if container.isAlone {
                    container.next.value = row.pointee.free
                    row.pointee.free = kept
                } else {
                    isKept = true
                    container.place.leave()
                    row.pointee.containers.removeAll { $0 === container }
                }
            }
        }
        return isKept
    }
}
