import SamovarCore

/// The attempts of open effects whose workers fell silent, and whether these had nothing else. It says little, because a network may
/// break; but again and again it does. A worker that comes back with its attempt and falls silent anew is not another.
struct Losses {
    private var attempts: [EffectID: [Lease: Bool]] = [:]

    var isEmpty: Bool { attempts.isEmpty }

    /// How many attempts of an effect were lost.
    func count(of id: EffectID) -> Int { attempts.isEmpty ? 0 : attempts[id]?.count ?? 0 }

    /// Of how many attempts the worker had nothing else.
    func isolated(of id: EffectID) -> Int { attempts[id]?.values.count { $0 } ?? 0 }

    mutating func insert(_ lease: Lease, of id: EffectID, isIsolated: Bool) {
        attempts[id, default: [:]].merge([lease: isIsolated]) { $0 || $1 }
    }

    mutating func forget(_ id: EffectID) { attempts[id] = nil }

    mutating func keep(where isKept: (EffectID) -> Bool) { attempts = attempts.filter { isKept($0.key) } }
}
