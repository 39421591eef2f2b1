import SamovarCore

/// Where open effects are: those that wait for a worker, and those that one has. An effect that is delayed, or behind another with its
/// label, is nowhere.
///
/// Each has a row of its own. Who knows the number of the row needs no look-up, and a field of it is read without a copy of the others.
struct EffectPlaces {
    struct Row {
        /// Whose row it is; nil while it is nobody's.
        fileprivate(set) var effect: EffectID?
        /// When the effect came to wait.
        let since: Timestamp
        /// The worker that has it, and all that follows; nil while it waits.
        var desk: Dispatcher.WorkerDesk?
        var lease = Lease(start: 0, counter: 0)
        /// What proves that the lease was given.
        var token: UInt64 = 0
        var order = 0
        var queue = Queue.default

        fileprivate init(_ effect: EffectID?, since: Timestamp) {
            self.effect = effect
            self.since = since
        }

        var assignment: Dispatcher.Assignment? {
            desk.map { Dispatcher.Assignment(lease: lease, desk: $0, order: order, queue: queue) }
        }
    }

    private var numbers: [EffectID: Int] = [:]
    private var rows: [Row] = []
    /// Numbers of rows that are nobody's.
    private var free: [Int] = []

    /// Effects that wait or that a worker has.
    var count: Int { numbers.count }

    /// The number of an effect's row; nil if it is nowhere.
    func number(of effect: EffectID) -> Int? { numbers[effect] }

    subscript(number: Int) -> Row {
        _read { yield rows[number] }
        _modify { yield &rows[number] }
    }

    /// Lets an effect wait; nil if it has a row already.
    mutating func insert(_ effect: EffectID, since: Timestamp) -> Int? {
        guard numbers[effect] == nil else { return nil }
        let row = Row(effect, since: since)
        let number: Int
        if let last = free.popLast() {
            number = last
            rows[number] = row
        } else {
            number = rows.count
            rows.append(row)
        }
        numbers[effect] = number
        return number
    }

    /// Takes an effect's row from it, and returns what it said.
    mutating func remove(_ effect: EffectID) -> Row? {
        guard let number = numbers.removeValue(forKey: effect) else { return nil }
        free.append(number)
        var row = Row(nil, since: rows[number].since)
        swap(&row, &rows[number])
        return row
    }

    /// Whether this row is still that of this effect, and no worker has it.
    func isWaiting(_ effect: EffectID, at number: Int) -> Bool { rows[number].desk == nil && rows[number].effect == effect }

    /// The rows that are somebody's, in no order.
    var taken: some Sequence<Row> { rows.lazy.filter { $0.effect != nil } }
}
