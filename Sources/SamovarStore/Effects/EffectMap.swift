import SamovarCore
import SamovarWire

/// An open-addressing hash map with effects as its keys.
///
/// Several times a turn an effect is entered, looked up and taken out. A `Dictionary` looks at three places in memory for that, and
/// takes more steps. The numbers of effects are the store's own, so their hash is a multiplication and nobody can make them collide.
/// It never shrinks.
///
/// Source: linear probing with deletion by shifting back, Knuth, “The Art of Computer Programming”, volume 3, 6.4, algorithms L and R.
struct EffectMap<Value> {
    fileprivate struct Slot {
        var id = EffectMap.nobody
        var value: Value?
    }

    /// Where nobody is. No turn has this number.
    private static var nobody: EffectID { EffectID(turn: .min, ordinal: 0) }

    private var slots: [Slot] = []
    private(set) var count = 0

    /// How many entries there is room for. At most half of the places are taken, so that free ones are near; of a small table a quarter,
    /// for its memory is no matter and groups of neighbours then have a free place behind them.
    private var limit: Int { slots.count > 1 << 16 ? slots.count / 2 : slots.count / 4 }

    var isEmpty: Bool { count == 0 }

    /// In no order.
    var keys: some Sequence<EffectID> { slots.lazy.filter { $0.value != nil }.map(\.id) }
    /// In no order.
    var values: some Sequence<Value> { slots.lazy.compactMap(\.value) }

    /// What belongs to an effect; nil if it has no entry.
    subscript(id: EffectID) -> Value? {
        @inline(__always) get {
            guard let place = place(of: id) else { return nil }
            return slots[place].value
        }
        set {
            guard let newValue else {
                removeValue(forKey: id)
                return
            }
            set(newValue, for: id)
        }
    }

    /// Changes the entry at a place that was just looked up.
    @inline(__always)
    mutating func change<Result>(at place: Int, _ body: (inout Value) -> Result) -> Result? {
        slots.withUnsafeMutableBufferPointer { slots in
            guard var value = slots[place].value.take() else { return nil }
            defer { slots[place].value = value }
            return body(&value)
        }
    }

    /// Where an effect's entry is, until one is entered or taken out; nil if it has none.
    func place(of id: EffectID) -> Int? {
        slots.withUnsafeBufferPointer { slots in
            guard slots.count > 0, id.turn != .min else { return nil }
            let mask = slots.count - 1
            var place = Self.home(of: id, mask)
            while slots[place].id != id {
                if slots[place].id.turn == .min { return nil }
                place = (place + 1) & mask
            }
            return place
        }
    }

    /// Enters what belongs to an effect; false if it has an entry, which stays as it is.
    @discardableResult
    mutating func insert(_ value: consuming Value, for id: EffectID) -> Bool {
        let (place, isNew) = entry(of: id)
        guard isNew else { return false }
        slots[place].value = value
        return true
    }

    /// Enters what belongs to an effect, in place of what did.
    mutating func set(_ value: consuming Value, for id: EffectID) {
        slots[entry(of: id).place].value = value
    }

    /// Where an effect's entry is; it is made if there is none, and has to be filled then.
    @inline(__always)
    private mutating func entry(of id: EffectID) -> (place: Int, isNew: Bool) {
        precondition(id.turn != .min, "nobody has an entry")
        if count == limit {
            if let place = place(of: id) { return (place, false) }
            grow()
        }
        let (place, isNew) = slots.withUnsafeMutableBufferPointer { slots in
            let mask = slots.count - 1
            var place = Self.home(of: id, mask)
            while slots[place].id.turn != .min {
                if slots[place].id == id { return (place, false) }
                place = (place + 1) & mask
            }
            slots[place].id = id
            return (place, true)
        }
        if isNew { count += 1 }
        return (place, isNew)
    }

    /// Takes an effect's entry out; nil if it has none.
    @discardableResult
    mutating func removeValue(forKey id: EffectID) -> Value? {
        guard let place = place(of: id) else { return nil }
        return remove(at: place)
    }

    /// Takes out the entry at a place that was just looked up.
    @discardableResult
    mutating func remove(at place: Int) -> Value? {
        count -= 1
        return slots.withUnsafeMutableBufferPointer { slots in
            let mask = slots.count - 1
            let value = slots[place].value.take()
            // Who stands behind a place that becomes free, and not at home, would not be found any more.
            var free = place
            var next = (place + 1) & mask
            while slots[next].id.turn != .min {
                let home = Self.home(of: slots[next].id, mask)
                if (next - home) & mask >= (next - free) & mask {
                    slots[free].id = slots[next].id
                    swap(&slots[free].value, &slots[next].value)
                    free = next
                }
                next = (next + 1) & mask
            }
            slots[free].id = Self.nobody
            return value
        }
    }

    /// The place where the search begins.
    ///
    /// Eight turns that follow each other are neighbours with the first effect of each, because those are looked up one after the other. Such
    /// groups are spread evenly by the top bits of a product with 2⁶⁴ divided by the golden ratio, Knuth, as above, “Fibonacci hashing”;
    /// further effects of a turn each by itself, with their ordinals mixed in by a constant of SplitMix64.
    @inline(__always)
    private static func home(of id: EffectID, _ mask: Int) -> Int {
        let golden: UInt64 = 0x9e37_79b9_7f4a_7c15
        let unused = UInt64(mask.leadingZeroBitCount)
        if id.ordinal == 0 {
            let group = UInt64(bitPattern: Int64(id.turn >> 3)) &* golden
            return Int(truncatingIfNeeded: group &>> (unused + 3)) << 3 | (id.turn & 7)
        }
        let bits = UInt64(bitPattern: Int64(id.turn)) &+ UInt64(bitPattern: Int64(id.ordinal)) &* 0xbf58_476d_1ce4_e5b9
        return Int(truncatingIfNeeded: ((bits ^ bits &>> 32) &* golden) &>> unused)
    }

    private mutating func grow() {
        let former = slots
        slots = Array(repeating: Slot(), count: max(16, 2 * former.count))
        count = 0
        for slot in former {
            if let value = slot.value { insert(value, for: slot.id) }
        }
    }
}

extension EffectMap<OpenEffect> {
    /// Calls `body` with an open effect where it stands; nil if it is not open.
    @inline(__always)
    func withEffect<Result>(_ id: EffectID, _ body: (OpenEffect) -> Result) -> Result? {
        guard let place = place(of: id), case let effect? = slots[place].value else { return nil }
        return body(effect)
    }
}

extension EffectMap: Equatable where Value: Equatable {
    /// Whether the same belongs to the same effects, wherever it stands.
    static func == (a: EffectMap, b: EffectMap) -> Bool {
        a.count == b.count && a.keys.allSatisfy { a[$0] == b[$0] }
    }
}

extension EffectMap: Sendable where Value: Sendable {}
extension EffectMap.Slot: Sendable where Value: Sendable {}
