import SamovarCore
import Synchronization

/// One page of memory that says which call into the program is under way.
///
/// Swift cannot catch a trap. So the store writes down what it is about to do, in memory that is mapped from a file of the data
/// folder, and the next process reads it. It costs a few stores for each call; no system call and no sync, because a trap kills a
/// process and not the machine. After a power failure the page may be anything, and is then no more than a hint: what it
/// names is taken alone.
///
/// Used by one thread, a signal handler on it included. The page belongs to one timeline and one build: under another, what it
/// says is forgotten, because another build may have mended what was wrong.
public final class TrapMarker {
    public static let byteCount = 4_096

    private let memory: UnsafeMutableRawPointer
    /// All of the page but its two atomic places: `state`, and what is the `MaintenanceMark`'s.
    private let words: UnsafeMutablePointer<UInt64>
    private let isOwned: Bool
    /// The same for another thread of this process.
    private let pulse: WatchdogPulse?
    /// What the process before has left, once it is read.
    private var taken: Suspicion?

    // Places of words in the page.
    private static let magic = 0
    private static let timeline = 1
    private static let build = 3
    /// Not zero while a call is under way.
    private static let state = 4
    private static let call = 5
    private static let evidence = 9
    private static let count = 11
    private static let suspects = 12
    private static let suspectWords = 8

    private static let format: UInt64 = 0x5341_4d56_4d4b_5231  // “SAMVMKR1”
    private static let isMarked: UInt64 = 1
    private static let isMarkedAlone: UInt64 = 2

    /// Words of the page that are the marker's own. Behind them are those with which a journal witnesses its end, and the `MaintenanceMark`.
    package static let wordCount = byteCount / 8 - 6
    /// Suspects for which there is room.
    static let capacity = (wordCount - suspects) / suspectWords

    /// - Parameters:
    ///   - memory: `byteCount` bytes, aligned to 8, that outlive this marker; nil for a page that no other process will ever see.
    ///   - pulse: tells another thread of each call, too.
    public init(_ memory: UnsafeMutableRawPointer? = nil, pulse: WatchdogPulse? = nil) {
        isOwned = memory == nil
        let memory = memory ?? .allocate(byteCount: Self.byteCount, alignment: MemoryLayout<UInt64>.alignment)
        if isOwned { memory.initializeMemory(as: UInt8.self, repeating: 0, count: Self.byteCount) }
        self.memory = memory
        words = memory.bindMemory(to: UInt64.self, capacity: Self.wordCount)
        (memory + Self.state * MemoryLayout<UInt64>.stride).bindMemory(to: Atomic<UInt64>.self, capacity: 1)
        self.pulse = pulse
    }

    deinit {
        if isOwned { memory.deallocate() }
    }

    // MARK: Calls

    /// A call is about to be made.
    ///
    /// - Parameters:
    ///   - isAlone: whether nothing else would be lost with it.
    ///   - turn: the newest turn.
    func begin(_ call: ProgramCall, isAlone: Bool, after turn: Int) {
        let name = call.words
        mark(name, isAlone: isAlone)
        pulse?.begin(name, after: turn)
    }

    private func mark(_ name: (UInt64, UInt64, UInt64, UInt64), isAlone: Bool) {
        (words[Self.call], words[Self.call + 1], words[Self.call + 2], words[Self.call + 3]) = name
        (words[Self.evidence], words[Self.evidence + 1]) = (0, 0)
        setState(isAlone ? Self.isMarkedAlone : Self.isMarked)
    }

    func end() {
        setState(0)
        pulse?.end()
    }

    /// A call inside another, which is under way again afterwards.
    func during<Result>(_ call: ProgramCall, _ body: () throws -> Result) rethrows -> Result {
        let outer = Self.state(in: memory)
        let outerName = (words[Self.call], words[Self.call + 1], words[Self.call + 2], words[Self.call + 3])
        setState(0)
        mark(call.words, isAlone: true)
        pulse?.begin(call.words, after: nil)
        defer {
            setState(0)
            (words[Self.call], words[Self.call + 1], words[Self.call + 2], words[Self.call + 3]) = outerName
            setState(outer)
            if outer == 0 { pulse?.end() } else { pulse?.begin(outerName, after: nil) }
        }
        return try body()
    }

    /// The process ends for this reason before the call returns.
    func note(_ evidence: DeathEvidence) {
        (words[Self.evidence], words[Self.evidence + 1]) = evidence.words
    }

    /// Notes a signal that the thread of the calls has raised itself. A few stores: it may be called by a signal handler.
    public static func note(signal: Int32, in memory: UnsafeMutableRawPointer) {
        guard state(in: memory) != 0 else { return }
        let words = memory.assumingMemoryBound(to: UInt64.self)
        (words[evidence], words[evidence + 1]) = (1, UInt64(truncatingIfNeeded: signal))
    }

    /// After all that it is about: whoever dies in between leaves a page that can be read.
    private func setState(_ value: UInt64) {
        Self.atomicState(in: memory).pointee.store(value, ordering: .sequentiallyConsistent)
    }

    private static func state(in memory: UnsafeMutableRawPointer) -> UInt64 {
        atomicState(in: memory).pointee.load(ordering: .sequentiallyConsistent)
    }

    /// Bound so by `init`, and reached in no other way.
    private static func atomicState(in memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (memory + state * MemoryLayout<UInt64>.stride).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    // MARK: Between processes

    /// Reads what the process before has left, and makes the page this process's own. The same again for another machine
    /// of this process.
    func take(timeline: Timeline, build: UInt64) -> Suspicion {
        if let taken { return taken }
        var suspicion = Suspicion()
        let maintenance = MaintenanceMark(memory).take()
        if words[Self.magic] == Self.format, words[Self.build] == build {
            let isSame = words[Self.timeline] == timeline.high && words[Self.timeline + 1] == timeline.low
            let beside = isSame ? maintenance.map { Suspicion.Death(call: .maintenance, wasAlone: true, evidence: $0) } : nil
            suspicion = Suspicion(death: readDeath(), maintenanceDeath: beside, suspects: isSame ? readSuspects() : [])
            // A timeline that failed to begin has no name yet.
            if !isSame, suspicion.death?.call == .start { suspicion.suspects = readSuspects().filter { $0.call == .start } }
            if !isSame, suspicion.death?.call != .start { suspicion.death = nil }
        }
        setState(0)
        words[Self.magic] = Self.format
        (words[Self.timeline], words[Self.timeline + 1]) = (timeline.high, timeline.low)
        words[Self.build] = build
        taken = suspicion
        return suspicion
    }

    private func readDeath() -> Suspicion.Death? {
        let state = Self.state(in: memory)
        guard state != 0, let call = readCall(at: Self.call) else { return nil }
        let evidence = DeathEvidence(words: (words[Self.evidence], words[Self.evidence + 1]))
        return Suspicion.Death(call: call, wasAlone: state == Self.isMarkedAlone, evidence: evidence)
    }

    private func readSuspects() -> [Suspicion.Suspect] {
        let count = Int(min(words[Self.count], UInt64(Self.capacity)))
        return (0..<count).compactMap { index in
            let place = Self.suspects + index * Self.suspectWords
            guard let call = readCall(at: place) else { return nil }
            return Suspicion.Suspect(
                call: call, deaths: Int(min(words[place + 4], 1_000)), kills: Int(min(words[place + 5], 1_000)),
                evidence: DeathEvidence(words: (words[place + 6], words[place + 7])))
        }
    }

    private func readCall(at place: Int) -> ProgramCall? {
        ProgramCall(words: (words[place], words[place + 1], words[place + 2], words[place + 3]))
    }

    func write(_ suspects: [Suspicion.Suspect]) {
        words[Self.count] = 0
        for (index, suspect) in suspects.prefix(Self.capacity).enumerated() {
            let place = Self.suspects + index * Self.suspectWords
            (words[place], words[place + 1], words[place + 2], words[place + 3]) = suspect.call.words
            words[place + 4] = UInt64(suspect.deaths)
            words[place + 5] = UInt64(suspect.kills)
            (words[place + 6], words[place + 7]) = suspect.evidence.words
        }
        words[Self.count] = UInt64(min(suspects.count, Self.capacity))
    }

    /// The page as it is, for tests.
    var bytes: [UInt8] {
        Array(UnsafeRawBufferPointer(start: memory, count: Self.byteCount))
    }
}

extension KeyedHash {
    /// A hash that tells bytes apart, equal in every process: its key is no secret.
    package static func of(_ bytes: [UInt8]) -> UInt64 {
        var hash = KeyedHash(Secret(high: 0, low: 0))
        hash.combine(bytes)
        return hash.finish()
    }
}
