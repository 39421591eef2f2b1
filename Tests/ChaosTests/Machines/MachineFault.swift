import ProcessSupport

/// What happens to one of four machines, or to who is on it.
enum MachineFault {
    case cut(String, Namespaces.Cut, seconds: Int)
    /// The wire is pulled and put back, again and again.
    case flap(String)
    /// All connections break.
    case reset(String)
    /// SIGKILL to the store or a worker, which is started again.
    case kill(String)
    /// The key of a worker is taken away; later it gets another.
    case revoke(String)
    /// The key of a worker or an agent is renewed, and the former one taken away.
    case renew(String)

    /// Each kind of them, once or more often. A peer is given up after 3 s of silence.
    static let each: [Self] = [
        .renew("east"), .kill("store"), .cut("left", .outgoing, seconds: 2), .revoke("left"),
        .cut("clients", .incoming, seconds: 2),
        .reset("clients"), .kill("right"), .flap("store"), .renew("right"), .cut("store", .both, seconds: 2),
    ]

    static func random(using random: inout SeededRandom) -> Self {
        func one<Element>(of elements: [Element]) -> Element { elements[Int.random(in: 0..<elements.count, using: &random)] }
        let (machine, worker) = (one(of: FourMachines.names), one(of: FourMachines.workers))
        let cut = Self.cut(machine, one(of: Namespaces.Cut.allCases), seconds: .random(in: 1...8, using: &random))
        let renewed = one(of: FourMachines.workers + FourMachines.agents)
        return one(of: [
            cut, cut, cut, .flap(machine), .reset(machine), .kill("store"), .kill(worker), .revoke(worker), .renew(renewed),
        ])
    }

    /// What is counted.
    var kind: String {
        switch self {
        case .cut(_, .both, _): "cuts in both directions"
        case .cut: "cuts in one direction"
        case .flap: "flaps, of five cuts each"
        case .reset: "times all connections of a machine were broken"
        case .kill("store"): "store killed"
        case .kill: "workers killed"
        case .revoke: "keys revoked"
        case .renew: "keys renewed"
        }
    }
}
