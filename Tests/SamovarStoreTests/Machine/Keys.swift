import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// The key of this number; its name is another matter.
func fingerprint(_ number: UInt64) -> Fingerprint { Fingerprint(high: 0xfeed, low: number) }

func named(_ name: String) -> KeyName {
    guard let name = KeyName(name) else { preconditionFailure("\(name) is no name of a key") }
    return name
}

func key(
    _ number: UInt64, _ name: String, _ roles: Role..., queues: Set<Queue>? = nil, inputs: Set<String>? = nil,
    notAfter: Timestamp? = nil,
    limits: Key.Limits = Key.Limits()
) -> Key {
    Key(named(name), fingerprint(number), roles: Set(roles), queues: queues, inputs: inputs, notAfter: notAfter, limits: limits)
}

func by(_ number: UInt64) -> Identity { .key(fingerprint(number)) }

func remoteClient(_ number: UInt8) -> Route { Route(listener: .front, id: [0, number], isRemote: true) }
func remoteWorker(_ number: UInt8) -> Route { Route(listener: .work, id: [0, number], isRemote: true) }
let remoteAdmin = Route(listener: .admin, id: [0, 1], isRemote: true)

extension Rig {
    /// A store for peers with these keys.
    static func with(_ keys: Key...) throws -> Rig { try Rig(keys: KeyTable(keys)) }

    /// The host reads a table with these keys.
    func read(_ keys: Key...) throws {
        machine.keysRead(.success(try KeyTable(keys)), now: now)
        round()
    }

    func greetClient(_ number: UInt8, by identity: Identity, epoch: Int = 1, at route: Route? = nil) -> [Frame] {
        let hello = Hello(role: .client(session: session(number)), schema: shop, epoch: epoch)
        return exchange(.hello(hello), from: route ?? remoteClient(number), by: identity)
    }

    func greetWorker(
        _ number: UInt8, by identity: Identity, queues: [Queue] = [.default], claims: [JobClaim] = [], epoch: Int = 1,
        at route: Route? = nil
    ) -> [Frame] {
        let offer = WorkerOffer(id: workerID(number), slots: 1, queues: queues, running: claims)
        return exchange(
            .hello(Hello(role: .worker(offer), schema: shop, epoch: epoch)), from: route ?? remoteWorker(number), by: identity)
    }
}

extension [Frame] {
    var errors: [PeerError.Code] { compactMap { if case .error(let error) = $0 { error.code } else { nil } } }
    var errorTexts: [String] { compactMap { if case .error(let error) = $0 { error.text } else { nil } } }
    var isWelcome: Bool { contains { if case .welcome = $0 { true } else { false } } }
    var verdicts: [Outcome.Verdict] {
        flatMap { frame -> [Outcome.Verdict] in
            if case .receipt(let outcomes, _) = frame { outcomes.map(\.verdict) } else { [] }
        }
    }
}
