import DequeModule
import SamovarStore
import SamovarWire

/// The network between the store and its peers: links, delays, cuts, and what is lost when a link breaks.
///
/// It is as unkind as TCP can be. A harsh network also loses, repeats and swaps single messages, which TCP never does; a proxy
/// between the sockets might.
final class Network {
    private unowned let world: World
    private var random: SeededRandom
    private var links: [Int: Link] = [:]
    private var byRoute: [Route: Link] = [:]
    private(set) var subscriptions: [Link] = []
    private var made = 0
    /// How often a peer has tried to reach a door: each attempt is at the next place.
    private var attempts: [Listener?: [ObjectIdentifier: Int]] = [:]
    /// Which directions to and from a peer are cut, by the peer's place.
    private var cuts: Set<Cut> = []

    /// Delay now; a fault may change it for a while.
    var delay: Instant
    /// Until the world heals.
    var isHarsh = false

    struct Cut: Hashable {
        let peer: ObjectIdentifier
        let direction: Direction
    }

    init(_ world: World) {
        self.world = world
        random = SeededRandom(seed: world.seed, "network")
        delay = world.swarm.delay
    }

    // MARK: Peers

    /// - Parameters:
    ///   - listener: nil for the subscription to views.
    ///   - identity: nil for what its key file holds now, if it has one.
    func connect(_ peer: Process, listener: Listener?, as identity: Identity? = nil) -> Link {
        made += 1
        let link = Link(
            id: made, listener: listener, peer: peer, store: nextStore(for: peer, listener), incarnation: peer.incarnation,
            identity: identity ?? world.keyKeeper?.identity(of: peer) ?? .local, isForced: identity != nil && listener != nil)
        links[link.id] = link
        world.plan(.connected(link), at: world.now + random.about(delay) * 2 + 50)
        return link
    }

    private func nextStore(for peer: Process, _ listener: Listener?) -> StoreProcess {
        guard world.stores.count > 1 else { return world.store }
        let attempt = attempts[listener, default: [:]][ObjectIdentifier(peer), default: 0]
        attempts[listener, default: [:]][ObjectIdentifier(peer)] = attempt + 1
        return world.stores[attempt % world.stores.count]
    }

    /// A link has had the time to be made: it is, or the store is not there or does not let it in, or nobody ever answers.
    func connected(_ link: Link) -> Bool {
        guard link.state == .connecting, !link.isGoneAtPeer else { return false }
        let store = link.store
        if isCut(link, .toPeer) || isCut(link, .toStore) || (store.isUp && store.isPaused) {
            // Nobody refuses and nobody answers.
            world.plan(.connected(link), at: world.now + random.time(20...200) * milliseconds)
            return false
        }
        guard store.isUp, store.isServing, store.admits(link) else {
            link.isGoneAtStore = true
            link.state = .closed
            world.plan(.broke(link), at: world.now + random.about(delay))
            return false
        }
        link.state = .open
        link.storeIncarnation = store.incarnation
        if let route = link.route { byRoute[route] = link } else { subscriptions.append(link) }
        return true
    }

    /// The peer closes its socket: what it has not received is lost, and of what it has sent, perhaps the end.
    func close(_ link: Link, gracefully: Bool = false) {
        guard !link.isGoneAtPeer else { return }
        link.isGoneAtPeer = true
        link.queues[Direction.toPeer.rawValue].removeAll()
        if !gracefully { loseTail(of: link, .toStore) }
        if link.state == .connecting { link.state = .closed }
        retire(link)
    }

    // MARK: Frames

    func send(_ parts: [[UInt8]], on link: Link, _ direction: Direction) {
        guard link.state == .open else { return }
        switch direction {
        case .toStore: if link.isGoneAtStore { return notice(link) }
        case .toPeer: if link.isGoneAtPeer { return }
        }
        if direction == .toPeer, isFull(link) { return world.count(.highWater) }
        if isHarsh, random.chance(world.swarm.loss) {
            world.count(.loss)
            return world.note("the network loses a message of \(link.peer.name)")
        }
        enqueue(parts, link, direction)
        if isHarsh, random.chance(world.swarm.duplication) {
            world.count(.duplication)
            enqueue(parts, link, direction)
        }
    }

    /// Whether the queue to a peer takes no more. A socket drops what it is given then, and its connection lives on: so it must be
    /// repaired inside of the connection, be it a single acknowledgement.
    private func isFull(_ link: Link) -> Bool {
        if link.queues[Direction.toPeer.rawValue].count >= world.swarm.highWater { return true }
        return link.listener != nil && world.isFaulty && world.swarm.has(.highWater) && random.chance(world.swarm.fullness)
    }

    private func enqueue(_ parts: [[UInt8]], _ link: Link, _ direction: Direction) {
        let queue = direction.rawValue
        link.queues[queue].append(parts)
        guard !link.isStalled[queue] else { return }
        let time = max(link.lastArrival[queue], world.now + random.about(delay) + 20)
        link.lastArrival[queue] = time
        world.plan(.arrive(link, direction), at: time)
    }

    /// The message whose time has come; nil if it does not arrive.
    func arrive(_ link: Link, _ direction: Direction) -> [[UInt8]]? {
        let queue = direction.rawValue
        guard !link.queues[queue].isEmpty, !link.isStalled[queue] else { return nil }
        guard !isCut(link, direction) else {
            link.isStalled[queue] = true
            return nil
        }
        if isHarsh, link.queues[queue].count > 1, random.chance(world.swarm.reordering) {
            world.count(.reordering)
            link.queues[queue].swapAt(0, 1)
        }
        let parts = link.queues[queue].removeFirst()
        retire(link)
        switch direction {
        case .toStore: return link.isGoneAtStore || link.storeIncarnation != link.store.incarnation ? nil : parts
        case .toPeer: return link.isGoneAtPeer || link.incarnation != link.peer.incarnation ? nil : parts
        }
    }

    /// Nil if the peer of this route is gone, as ROUTER_MANDATORY would say.
    func link(to route: Route) -> Link? { byRoute[route] }

    /// Every subscription gets it, but for those whose queue is full.
    func publish(_ parts: [[UInt8]], by store: StoreProcess) {
        for link in subscriptions where link.state == .open && link.store === store {
            if world.isFaulty, world.swarm.has(.publisherDrop), random.chance(world.swarm.publisherLoss) {
                world.count(.publisherDrop)
                continue
            }
            send(parts, on: link, .toPeer)
        }
    }

    /// Ends the connections of those who hear views over the network; sockets ask the table again when one begins.
    func reopenViews() {
        for link in subscriptions where link.isRemote { breakLink(link, isNoticed: true) }
    }

    // MARK: Faults

    /// Links of which one may break, in a fixed order.
    var openLinks: [Link] { links.keys.sorted().compactMap { links[$0] }.filter { $0.state == .open && !$0.isGoneAtPeer } }

    /// A link breaks: a part of what is under way still arrives. The peer notices, or only the silence tells it.
    func breakLink(_ link: Link, isNoticed: Bool) {
        guard link.state == .open else { return }
        loseTail(of: link, .toStore)
        loseTail(of: link, .toPeer)
        link.isGoneAtStore = true
        if let route = link.route { byRoute[route] = nil }
        subscriptions.removeAll { $0 === link }
        if isNoticed { notice(link) }
    }

    /// The store's process is gone. Peers on living machines notice soon.
    ///
    /// - Parameter isNoticed: whether its machine says so; where that is gone, too, nobody does.
    func ended(_ store: StoreProcess, isNoticed: Bool = true) {
        for link in openLinks where link.store === store { breakLink(link, isNoticed: isNoticed && !isCut(link, .toPeer)) }
        byRoute = byRoute.filter { $0.value.store !== store }
        subscriptions.removeAll { $0.store === store }
    }

    func cut(_ peer: Process, _ direction: Direction) {
        cuts.insert(Cut(peer: ObjectIdentifier(peer), direction: direction))
    }

    func mend(_ peer: Process, _ direction: Direction) {
        guard cuts.remove(Cut(peer: ObjectIdentifier(peer), direction: direction)) != nil else { return }
        for id in links.keys.sorted() {
            guard let link = links[id], link.peer === peer || link.store === peer, !isCut(link, direction),
                link.isStalled[direction.rawValue]
            else { continue }
            release(link, direction)
        }
    }

    private func release(_ link: Link, _ direction: Direction) {
        let queue = direction.rawValue
        link.isStalled[queue] = false
        var time = max(link.lastArrival[queue], world.now)
        for _ in link.queues[queue] {
            time += random.time(1...milliseconds)
            world.plan(.arrive(link, direction), at: time)
        }
        link.lastArrival[queue] = time
    }

    private func isCut(_ link: Link, _ direction: Direction) -> Bool {
        !cuts.isEmpty
            && (cuts.contains(Cut(peer: ObjectIdentifier(link.peer), direction: direction))
                || cuts.contains(Cut(peer: ObjectIdentifier(link.store), direction: direction)))
    }

    /// The machine of the store says that there is no such connection.
    private func notice(_ link: Link) {
        guard !link.isGoneAtPeer, !isCut(link, .toPeer) else { return }
        world.plan(.broke(link), at: world.now + random.about(delay) + 100)
    }

    private func loseTail(of link: Link, _ direction: Direction) {
        let queue = direction.rawValue
        let count = link.queues[queue].count
        if count > 0 { link.queues[queue].removeLast(random.number(0...count)) }
    }

    /// Forgets a link of which nothing can come any more.
    private func retire(_ link: Link) {
        guard link.isGoneAtPeer, link.queues[0].isEmpty else { return }
        link.state = .closed
        links[link.id] = nil
        if let route = link.route { byRoute[route] = nil }
        subscriptions.removeAll { $0 === link }
    }
}
