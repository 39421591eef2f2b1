import MachineSupport
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// What would have been, computed from records by the mill's functions and dictionaries alone: no engine, no books, no snapshot. The history that
/// was is computed first, from its beginning to its end, and then the other one.
struct NaiveWhatIf {
    struct History {
        var state = Mill.State()
        var open: [EffectID: Mill.Job] = [:]
        var dead: [EffectID: Mill.Job] = [:]
        /// All that were ever ordered.
        var ordered: [EffectID: Mill.Job] = [:]
        var timers: [String: (id: EffectID, seconds: Int, due: Timestamp)] = [:]
        var source: (id: EffectID, name: String)?
    }

    private(set) var was = History()
    private(set) var wouldBe = History()
    private(set) var lost: Set<Int> = []
    private(set) var refused: [Int] = []
    private(set) var gained: [Int] = []

    private let records: [Record]
    private let supposition: Supposition
    private let last: Int
    /// The timer that each firing was of.
    private var labels: [Int: String] = [:]
    private var history = History()
    private var isOther = false
    private var time = at(0)
    private var inserted = 0

    init(_ records: [Record], _ supposition: Supposition, through last: Int) throws {
        self.records = records.filter { $0.turn <= last }
        self.supposition = supposition
        self.last = last
        try run()
        was = history
        (history, isOther) = (History(), true)
        try run()
        wouldBe = history
    }

    // MARK: Chains

    private mutating func run() throws {
        var index = 0
        while index < records.count {
            var end = index + 1
            while end < records.count, case .followUp = records[end].origin { end += 1 }
            let (item, followUps) = (records[index], Array(records[(index + 1)..<end]))
            time = item.time
            if try !take(item, followUps) {
                lost.insert(item.turn)
                lost.formUnion(followUps.map(\.turn))
            }
            if isOther {
                for turn in item.turn...(item.turn + followUps.count) {
                    for input in supposition.inserted[turn] ?? [] {
                        inserted += 1
                        let number = newNumber()
                        let origin = Origin.client(session: UniqueID(high: 0, low: 0), sequence: inserted)
                        try accept(unpacked(Mill.Message.self, input), number, origin, [])
                    }
                }
            }
            index = end
        }
    }

    private mutating func newNumber() -> Int {
        gained.append(last + gained.count + 1)
        return last + gained.count
    }

    /// Whether the item comes.
    private mutating func take(_ item: Record, _ followUps: [Record]) throws -> Bool {
        if isOther, supposition.removed.contains(item.turn) { return false }
        let given = isOther ? supposition.replaced[item.turn] : nil
        switch item.event {
        case .started(let number, _, _, _):
            if number == 1 {
                let turn = Turn(number: 1, now: time, origin: .store, secret: millSecret)
                let next = Mill.start(NoSeed(), turn)
                history.state = next.state
                try follow(carryOut(next.command, of: 1), 1, followUps)
            } else {
                subscribe(after: item.turn)
            }
        case .applied(let message, _, let closes):
            return try take(item, unpacked(Mill.Message.self, given ?? message), isGiven: given != nil, closes: closes, followUps)
        case .streamed(let message, _, _):
            return try take(item, unpacked(Mill.Message.self, given ?? message), isGiven: given != nil, closes: false, followUps)
        case .refused:
            if let given { try accept(unpacked(Mill.Message.self, given), item.turn, item.origin, followUps) }
        case .attemptFailed(let id, _, _, _): return isSame(history.open[id], id)
        case .done(let id):
            guard isSame(history.open[id], id) else { return false }
            history.open[id] = nil
        case .dead(let id, _):
            guard isSame(history.open[id], id) else { return false }
            history.dead[id] = history.open.removeValue(forKey: id)
        case .requeued(let id):
            guard isSame(history.dead[id], id) else { return false }
            history.open[id] = history.dead.removeValue(forKey: id)
        case .dropped(let id):
            guard isSame(history.dead[id] ?? history.open[id], id) else { return false }
            // The store drops what is requeued of a source that is not wanted. Here it is wanted, or was not requeued.
            if item.origin == .store, history.open[id] == nil || history.source?.id == id { return true }
            (history.dead[id], history.open[id]) = (nil, nil)
        default: break
        }
        return true
    }

    private func isSame(_ job: Mill.Job?, _ id: EffectID) -> Bool { job != nil && (!isOther || job == was.ordered[id]) }

    private mutating func take(
        _ item: Record, _ message: Mill.Message, isGiven: Bool, closes: Bool, _ followUps: [Record]
    ) throws -> Bool {
        switch item.origin {
        case .client: try accept(message, item.turn, item.origin, followUps)
        case .effect(let id, _, _), .failure(let id):
            guard isSame(history.open[id], id) else { return false }
            if closes { history.open[id] = nil }
            try apply(message, item.turn, item.origin, followUps)
        case .operator:
            if lost.contains(item.turn - 1), isOther { return false }
            try apply(message, item.turn, item.origin, followUps)
        case .subscription(let id, _):
            if !isOther { labels[item.turn] = history.timers.first { $0.value.id == id }?.key }
            let label = labels[item.turn] ?? ""
            guard let timer = history.timers[label], timer.due <= item.time else { return false }
            let step = Int64(timer.seconds) * 1_000_000
            var nominal = timer.due.microseconds
            while nominal + step <= item.time.microseconds { nominal += step }
            history.timers[label]?.due = Timestamp(microseconds: nominal + step)
            let origin = Origin.subscription(timer.id, nominal: Timestamp(microseconds: nominal))
            try apply(isGiven ? message : .rang(label), item.turn, origin, followUps)
        default: return false
        }
        return true
    }

    // MARK: The program

    private mutating func accept(_ input: Mill.Message, _ number: Int, _ origin: Origin, _ followUps: [Record]) throws {
        let turn = Turn(number: number, now: time, origin: origin, secret: millSecret)
        let message: Mill.Message
        do throws(Mill.Refusal) {
            message = try Mill.accept(input, history.state, turn)
        } catch {
            refused.append(number)
            lost.formUnion(followUps.map(\.turn))
            return
        }
        try apply(message, number, origin, followUps)
    }

    private mutating func apply(_ message: Mill.Message, _ number: Int, _ origin: Origin, _ followUps: [Record]) throws {
        let turn = Turn(number: number, now: time, origin: origin, secret: millSecret)
        let command = Mill.update(&history.state, message, turn)
        try follow(carryOut(command, of: number), number, followUps)
    }

    private mutating func follow(_ first: [(Mill.Message, Int)], _ number: Int, _ followUps: [Record]) throws {
        var (queue, left, head) = (first, followUps, number)
        while !queue.isEmpty {
            let (message, cause) = queue.removeFirst()
            let place = try left.firstIndex { record in
                guard case .applied(let bytes, _, _) = record.event else { return false }
                return try record.origin == .followUp(of: cause) && unpacked(Mill.Message.self, bytes) == message
            }
            head = place.map { left.remove(at: $0).turn } ?? newNumber()
            let turn = Turn(number: head, now: time, origin: .followUp(of: cause), secret: millSecret)
            queue += carryOut(Mill.update(&history.state, message, turn), of: head)
        }
        lost.formUnion(left.map(\.turn))
        subscribe(after: head)
    }

    /// Returns the follow-ups, and the turn that ordered them.
    private mutating func carryOut(_ command: Command<Mill>, of number: Int) -> [(Mill.Message, Int)] {
        var followUps: [(Mill.Message, Int)] = []
        for (ordinal, order) in command.enumerated() {
            switch order {
            case .run(let job, let options):
                if case .latest = options.policy, let label = options.id { cancel(label) }
                let id = EffectID(turn: number, ordinal: ordinal)
                history.open[id] = job
                history.ordered[id] = job
            case .then(let message): followUps.append((message, number))
            case .cancel(let label): cancel(label)
            // Whatever is dead is of the one queue that there is.
            case .control(.requeue):
                history.open.merge(history.dead) { _, dead in dead }
                history.dead.removeAll()
            default: break
            }
        }
        return followUps
    }

    private mutating func cancel(_ label: Label) {
        let source = history.source?.id
        for (id, job) in history.open where id != source && Mill.options(job.name).id == label { history.open[id] = nil }
        for (id, job) in history.dead where Mill.options(job.name).id == label { history.dead[id] = nil }
    }

    private mutating func subscribe(after number: Int) {
        // Places go by labels, and the source has one.
        let labels = (history.state.timers.keys + (history.state.source == nil ? [] : ["source"])).sorted()
        func id(_ label: String) -> EffectID { EffectID(turn: number, ordinal: 1 << 20 + (labels.firstIndex(of: label) ?? 0)) }
        for (label, seconds) in history.state.timers where history.timers[label]?.seconds != seconds {
            history.timers[label] = (id(label), seconds, time + .seconds(seconds))
        }
        for label in history.timers.keys where history.state.timers[label] == nil { history.timers[label] = nil }
        guard history.source?.name != history.state.source else { return }
        if let former = history.source { history.open[former.id] = nil }
        history.source = history.state.source.map { (id("source"), $0) }
        if let source = history.source {
            history.open[source.id] = Mill.Job(name: source.name, grain: 0)
            history.ordered[source.id] = Mill.Job(name: source.name, grain: 0)
        }
    }
}
