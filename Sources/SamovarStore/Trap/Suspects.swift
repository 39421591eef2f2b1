import SamovarCore

/// What the marker of the process before has left.
struct Suspicion: Equatable, Sendable {
    /// The call that it died in.
    struct Death: Equatable, Sendable {
        var call: ProgramCall
        /// Nothing else was lost with it: the item was a batch of its own.
        var wasAlone: Bool
        var evidence: DeathEvidence
    }

    /// A call that deaths were counted against.
    struct Suspect: Equatable, Sendable {
        var call: ProgramCall
        /// Deaths alone, with proof that the call caused them.
        var deaths = 0
        /// Deaths alone of which nobody knows the cause.
        var kills = 0
        /// Of the newest death with proof.
        var evidence = DeathEvidence.none
    }

    var death: Death?
    /// The same for the thread beside the service.
    var maintenanceDeath: Death?
    var suspects: [Suspect]

    init(death: Death? = nil, maintenanceDeath: Death? = nil, suspects: [Suspect] = []) {
        // One of the two threads has proof against it: the other one's call was only cut off.
        let isCutOff = maintenanceDeath?.evidence.isProof == true && death?.evidence.isProof == false
        self.death = isCutOff ? nil : death
        self.maintenanceDeath = death?.evidence.isProof == true ? nil : maintenanceDeath
        self.suspects = suspects
    }
}

/// The calls that processes before this one have died in, and what that says of them.
///
/// A trap tells which item was under way, because the marker names it. Yet it is believed only when the item was alone, so that
/// nothing else can have been the cause; and only after a few times, so that a machine that fails once costs nobody an input.
/// A SIGKILL leaves the same marker without a proof. Ten of them in a row, each inside the same call, mean that the
/// store cannot get past it, as when it takes more memory than there is; one that returns even once is cleared.
struct Suspects: Equatable {
    private(set) var list: [Suspicion.Suspect]
    /// Proven deaths alone after which an item is given up.
    private let deathLimit: Int
    /// Unexplained deaths alone after which it is.
    private let killLimit: Int
    /// Suspects that are kept; beyond, the one with the least against it is forgotten.
    private let capacity: Int

    init(_ suspicion: Suspicion, settings: StoreSettings) {
        list = suspicion.suspects
        (deathLimit, killLimit) = (settings.trapDeaths, settings.trapKills)
        capacity = min(settings.trapSuspects, TrapMarker.capacity)
        if let death = suspicion.death { add(death) }
        if let death = suspicion.maintenanceDeath { add(death) }
    }

    var isEmpty: Bool { list.isEmpty }

    func contains(_ call: ProgramCall) -> Bool {
        list.contains { $0.call == call }
    }

    /// Why a call is not made any more; nil if it may be tried.
    func verdict(on call: ProgramCall) -> String? {
        guard let suspect = list.first(where: { $0.call == call }) else { return nil }
        if suspect.deaths >= deathLimit { return Self.text(suspect.deaths, call, suspect.evidence) }
        if suspect.kills >= killLimit { return Self.text(suspect.kills, call, .none) }
        return nil
    }

    private static func text(_ deaths: Int, _ call: ProgramCall, _ evidence: DeathEvidence) -> String {
        "the store ended \(deaths) times while it \(call.activity), each time alone (\(evidence.text))"
    }

    mutating func clear(_ call: ProgramCall) {
        list.removeAll { $0.call == call }
    }

    /// A kill that the call was not the cause of: it has returned since.
    mutating func forgiveKills(_ call: ProgramCall) {
        guard let index = list.firstIndex(where: { $0.call == call }) else { return }
        list[index].kills = 0
    }

    private mutating func add(_ death: Suspicion.Death) {
        switch death.call {
        case .replay: return
        case .restore where !death.evidence.isProof: return
        default: break
        }
        var suspect = list.first { $0.call == death.call } ?? Suspicion.Suspect(call: death.call)
        clear(death.call)
        if death.evidence.isProof { suspect.evidence = death.evidence }
        if death.wasAlone {
            if death.evidence.isProof { suspect.deaths += 1 } else { suspect.kills += 1 }
        }
        if list.count >= capacity, let least = list.indices.min(by: { rank(list[$0]) < rank(list[$1]) }) {
            list.remove(at: least)
        }
        list.append(suspect)
    }

    private func rank(_ suspect: Suspicion.Suspect) -> (Int, Int) { (suspect.deaths, suspect.kills) }
}
