import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// What a durable client keeps, and how it is read after a crash.
@Suite struct OutboxTests {
    private static let session = SessionID(high: 5, low: 5)

    private static func input(_ number: Int) -> OutboxEntry {
        .input(Submission(sequence: number, input: [UInt8(number)]))
    }

    private static let entries: [OutboxEntry] = [
        .opened(session: session, openings: 3, next: 7), .welcomed(home, head: 40), input(7), input(8), input(9),
        .seen(sequence: 8),
    ]

    private static func sum(_ entries: [OutboxEntry]) throws -> ClientOutbox {
        var outbox = ClientOutbox(session: .zero)
        for entry in entries { try outbox.add(entry) }
        return outbox
    }

    @Test func `An outbox is the sum of its entries, and its own entries add up to it`() throws {
        let outbox = try Self.sum(Self.entries)
        #expect(outbox.inputs.map(\.sequence) == [7, 9] && outbox.next == 10)
        #expect(try Self.sum(outbox.entries) == outbox)
        #expect(try ClientOutbox(file: Self.entries.flatMap(\.bytes)) == outbox)
    }

    @Test func `Of an input that was seen an outbox keeps the number alone, also from the file of an earlier build`() throws {
        let large = OutboxEntry.input(Submission(sequence: 8, instance: Instance("a"), input: [UInt8](repeating: 8, count: 1_000)))
        let former: [OutboxEntry] = [
            Self.entries[0], .welcomed(home, head: 40), Self.input(7), large, Self.input(9), .seen(sequence: 8),
        ]
        let outbox = try #require(try ClientOutbox(file: former.flatMap(\.bytes)))
        let emptied = OutboxEntry.input(Submission(sequence: 8, input: []))
        #expect(outbox.entries == former.map { $0 == large ? emptied : $0 })
        #expect(try ClientOutbox(file: outbox.entries.flatMap(\.bytes)) == outbox)
        #expect(outbox.inputs.map(\.sequence) == [7, 9] && outbox.next == 10)
    }

    @Test func `The bytes of an entry are as they were first`() {
        let bytes = OutboxEntry.welcomed(home, head: 300).bytes
        #expect(bytes.prefix(4).map { String($0, radix: 16) } == ["0", "0", "0", "17"])
        #expect(Array(bytes.dropFirst(12).prefix(2)) == [0x93, 2])
    }

    /// A build before this one reads the array and does not look behind it.
    @Test func `A proof stands behind the entry of an earlier build, and is read back`() throws {
        let proof = TurnProof(turn: 299, code: .max)
        let former = OutboxEntry.welcomed(home, head: 300).bytes.dropFirst(12)
        #expect(OutboxEntry.welcomed(home, head: 300, proof: proof).bytes.dropFirst(12).starts(with: former))
        var entries = Self.entries
        entries[1] = .welcomed(home, head: 300, proof: proof)
        let outbox = try #require(try ClientOutbox(file: entries.flatMap(\.bytes)))
        #expect(outbox.proof == proof && outbox.witness == 300)
        #expect(try Self.sum(outbox.entries) == outbox)
        #expect(try ClientOutbox(file: Self.entries.flatMap(\.bytes))?.proof == nil, "a file of an earlier build")
        #expect(try Self.sum(entries + [.welcomed(home, head: 301)]).proof == proof, "of a store that gives none")
        #expect(try Self.sum(entries + [.welcomed(abroad, head: 2)]).proof == nil)
    }

    @Test func `A start stands behind the proof, is read back, never falls, and belongs to its timeline`() throws {
        let proof = TurnProof(turn: 299, code: 7)
        let former = OutboxEntry.welcomed(home, head: 300, proof: proof).bytes.dropFirst(12)
        #expect(OutboxEntry.welcomed(home, head: 300, proof: proof, start: 4).bytes.dropFirst(12).starts(with: former))
        var entries = Self.entries
        entries[1] = .welcomed(home, head: 300, proof: proof, start: 4)
        let outbox = try #require(try ClientOutbox(file: entries.flatMap(\.bytes)))
        #expect(outbox.start == 4)
        #expect(try Self.sum(outbox.entries) == outbox)
        #expect(try Self.sum(entries + [.welcomed(home, head: 301, start: 3)]).start == 4)
        #expect(try Self.sum(entries + [.welcomed(abroad, head: 2, start: 1)]).start == 1)
        #expect(try Self.sum(entries + [.welcomed(abroad, head: 2)]).start == 0, "a store there may name none")
        let alone = OutboxEntry.welcomed(home, head: 300, start: 4).bytes
        #expect(alone == OutboxEntry.welcomed(home, head: 300).bytes, "an earlier build would take it for a proof")
    }

    @Test func `A durable client shows the proof and the start that an earlier process was given`() throws {
        let proof = TurnProof(turn: 40, code: 8)
        let outbox = try Self.sum([Self.entries[0], .welcomed(home, head: 40, proof: proof, start: 6), Self.input(7)])
        var machine = ClientMachine(outbox: outbox, schema: counter, random: Random(seed: 1))
        let hellos = machine.ticked(now: at(0)).compactMap { action -> Hello? in
            if case .send(let envelope) = action, case .hello(let hello) = envelope.frame { hello } else { nil }
        }
        #expect(hellos.map(\.witness) == [40] && hellos.map(\.proof) == [8] && hellos.map(\.start) == [6])
    }

    @Test func `An outbox that was never welcomed has seen no turn`() {
        let outbox = ClientOutbox(session: Self.session)
        #expect(outbox.witness == 0 && outbox.proof == nil && outbox.timeline == .zero && outbox.next == 1)
    }

    @Test func `Whatever a crash cuts off at the end is left out, and all before it is there`() throws {
        let bytes = Self.entries.flatMap(\.bytes)
        var known: [Int: ClientOutbox] = [:]
        var place = 0
        for count in 1...Self.entries.count {
            place += Self.entries[count - 1].bytes.count
            known[place] = try Self.sum(Array(Self.entries.prefix(count)))
        }
        // The first entry comes with the file, by a rename, so it is never there in part.
        for length in Self.entries[0].bytes.count...bytes.count {
            let expected = known.filter { $0.key <= length }.max { $0.key < $1.key }?.value
            #expect(try ClientOutbox(file: Array(bytes.prefix(length))) == expected, "cut at \(length)")
            let zeros = Array(bytes.prefix(length)) + [UInt8](repeating: 0, count: 40)
            if known[length] != nil { #expect(try ClientOutbox(file: zeros) == expected) }
        }
    }

    @Test func `A changed byte before the end is an error, and never another outbox`() throws {
        let bytes = Self.entries.flatMap(\.bytes)
        let whole = try Self.sum(Self.entries)
        let last = bytes.count - Self.entries[5].bytes.count
        for index in bytes.indices {
            for change: UInt8 in [1, 0x80, 0xff] {
                var damaged = bytes
                damaged[index] ^= change
                do {
                    // A length that reaches beyond the end, and the last entry, look like a write that was cut off.
                    let outbox = try ClientOutbox(file: damaged)
                    #expect(outbox != whole, "byte \(index)")
                    #expect(index >= last || damaged[index] != bytes[index])
                } catch is WireError {
                }
            }
        }
    }

    @Test func `Damage in the last entry leaves it out, and damage before it is an error that says where`() throws {
        let bytes = Self.entries.flatMap(\.bytes)
        let places = Self.entries.indices.map { Self.entries.prefix($0).flatMap(\.bytes).count }
        for (index, place) in places.enumerated() {
            // A byte of the checksum, and one of the body.
            for offset in [4, Self.entries[index].bytes.count - 1] {
                var damaged = bytes
                damaged[place + offset] ^= 1
                let read = Result { try ClientOutbox(file: damaged) }
                if index == Self.entries.count - 1 {
                    #expect(try read.get() == Self.sum(Array(Self.entries.dropLast())))
                } else {
                    #expect(throws: WireError.malformed("the entry at byte \(place) is damaged")) { try read.get() }
                }
            }
        }
    }

    @Test func `A file without an entry is no outbox, and one that begins otherwise is an error`() throws {
        #expect(try ClientOutbox(file: []) == nil)
        for count in [1, 11, 12, 40] { #expect(try ClientOutbox(file: [UInt8](repeating: 0, count: count)) == nil) }
        let text = WireError.malformed("it does not begin like an outbox")
        for count in [1, 11, 12] { #expect(throws: text) { try ClientOutbox(file: [UInt8](repeating: 7, count: count)) } }
        #expect(throws: text) { try ClientOutbox(file: Self.input(1).bytes) }
        #expect(throws: text) { try ClientOutbox(file: Array(Self.entries[0].bytes.dropLast())) }
    }

    /// The body of an entry behind the header that fits it.
    private static func entry(_ body: [UInt8]) -> [UInt8] {
        var hash = KeyedHash(Secret(high: 0x6f75_7462, low: 0x6f78))
        hash.combine(body)
        return [0, 0, 0, UInt8(body.count)] + withUnsafeBytes(of: hash.finish().bigEndian) { [UInt8]($0) } + body
    }

    @Test func `Every entry has the bytes that the first build wrote, and another one is an error`() throws {
        let id: [UInt8] = [0xc4, 16] + [UInt8](repeating: 0, count: 7) + [5] + [UInt8](repeating: 0, count: 7) + [5]
        let timeline: [UInt8] = [0xc4, 16] + [UInt8](repeating: 0, count: 7) + [1] + [UInt8](repeating: 0, count: 7) + [1]
        let written: [(OutboxEntry, [UInt8])] = [
            (.opened(session: Self.session, openings: 3, next: 7), [0x95, 1, 1] + id + [3, 7]),
            (.welcomed(home, head: 40), [0x93, 2] + timeline + [40]),
            (.welcomed(home, head: 40, proof: TurnProof(turn: 39, code: 6)), [0x93, 2] + timeline + [40, 0x92, 39, 6]),
            (
                .welcomed(home, head: 40, proof: TurnProof(turn: 39, code: 6), start: 5),
                [0x93, 2] + timeline + [40, 0x92, 39, 6, 5]
            ),
            (.input(Submission(sequence: 7, input: [9, 8])), [0x94, 3, 7, 0xc0, 0xc4, 2, 9, 8]),
            (.seen(sequence: 7), [0x92, 4, 7]),
        ]
        for (entry, body) in written { #expect(entry.bytes == Self.entry(body), "\(entry)") }
        let begin = written[0].0.bytes
        for (body, text) in [
            ([0x95, 1, 2] + id + [3, 7], "an outbox of format 2"), ([0x92, 5, 7], "unknown entry 5 of 2 fields"),
            ([0x93, 4, 7, 7], "unknown entry 4 of 3 fields"), ([0x92, 3, 7], "unknown entry 3 of 2 fields"),
        ] as [([UInt8], String)] {
            #expect(throws: WireError.malformed(text)) { try ClientOutbox(file: begin + Self.entry(body) + Self.entry(body)) }
        }
    }

    @Test func `An input that leaves a hole is an error, and an outcome of no such input says nothing`() throws {
        let outbox = try Self.sum(Self.entries)
        #expect(throws: WireError.malformed("input 11 where 10 is next")) { try Self.sum(Self.entries + [Self.input(11)]) }
        #expect(throws: WireError.malformed("input 9 where 10 is next")) { try Self.sum(Self.entries + [Self.input(9)]) }
        for sequence in [0, 6, 8, 10, Int.max] {
            #expect(try Self.sum(Self.entries + [.seen(sequence: sequence)]) == outbox, "input \(sequence)")
        }
        let done = try Self.sum(Self.entries + [.seen(sequence: 9), .seen(sequence: 7)])
        #expect(done.isEmpty && done.inputs == [] && done.next == 10)
    }

    @Test func `The newest turn stays, whatever an older store says, and the first WELCOME voids nothing`() throws {
        let outbox = try Self.sum(Self.entries + [.welcomed(home, head: 39)])
        #expect(outbox.witness == 40 && outbox.inputs.map(\.sequence) == [7, 9])
        let early = try Self.sum([Self.entries[0], Self.input(7), .welcomed(home, head: 3)])
        #expect(early.inputs.map(\.sequence) == [7] && early.witness == 3 && early.timeline == home)
        #expect(early.entries == [Self.entries[0], .welcomed(home, head: 3), Self.input(7)])
        #expect(try Self.sum([Self.entries[0]]).entries == [Self.entries[0]])
    }

    @Test func `Inputs of another timeline are void`() throws {
        let outbox = try Self.sum(Self.entries + [.welcomed(abroad, head: 2)])
        #expect(outbox.inputs == [] && outbox.next == 1 && outbox.witness == 2)
    }

    @Test func `An outbox with something left goes on with its session, an empty one begins another`() throws {
        let fresh = SessionID(high: 6, low: 6)
        let left = try Self.sum(Self.entries).reopened(as: fresh)
        #expect(left.session == Self.session && left.openings == 4)
        let done = try Self.sum(Self.entries + [.seen(sequence: 7), .seen(sequence: 9)]).reopened(as: fresh)
        #expect(done.session == fresh && done.openings == 1 && done.next == 1 && done.timeline == .zero)
    }
}

/// A client over its own deaths.
@Suite struct DurableClientTests {
    private static func machine(_ outbox: ClientOutbox, keptBytes: Int = 1 << 20) -> ClientMachine {
        let connection = ConnectionSettings(firstPause: .zero, longestPause: .zero)
        let settings = ClientMachine.Settings(connection: connection, keptBytes: keptBytes)
        return ClientMachine(outbox: outbox, schema: counter, settings: settings, random: Random(seed: 1))
    }

    private static func welcome(expected: Int = 1, credit: Int = 100, of timeline: Timeline = home) -> Envelope {
        Envelope(
            .welcome(Welcome(schema: counter, expected: expected, credit: credit, head: 9, silence: .seconds(6))),
            timeline: timeline)
    }

    /// A client that the store has welcomed.
    private static func welcomed(_ outbox: ClientOutbox) -> ClientMachine {
        var machine = Self.machine(outbox)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        return machine
    }

    private static func receipt(_ sequence: Int, credit: Int = 100) -> Envelope {
        Envelope(.receipt([Outcome(sequence: sequence, turn: 10 + sequence, verdict: .applied)], credit: credit), timeline: home)
    }

    /// What the host does with the entries of a round.
    private static func save(_ machine: inout ClientMachine, _ outbox: inout ClientOutbox) throws {
        for entry in machine.takeEntries() { try outbox.add(entry) }
        machine.saved()
    }

    private static func sent(_ actions: [ClientMachine.Action]) -> [Int] {
        actions.flatMap { action -> [Int] in
            if case .send(let envelope) = action, case .send(let list, _) = envelope.frame { list.map(\.sequence) } else { [] }
        }
    }

    private static func confirmed(_ actions: [ClientMachine.Action]) -> Int? {
        for case .send(let envelope) in actions {
            switch envelope.frame {
            case .send(_, let confirmed), .ping(let confirmed): return confirmed
            default: break
            }
        }
        return nil
    }

    @Test func `An input is sent when it is on disk, and not earlier`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.welcomed(outbox)
        #expect(try machine.submit([1]) == 1)
        let before = machine.flush(now: at(0))
        try Self.save(&machine, &outbox)
        let after = machine.flush(now: at(0))
        #expect(Self.sent(before) == [] && Self.sent(after) == [1])
        #expect(outbox.inputs.map(\.sequence) == [1])
    }

    @Test func `An input that waits for the disk, and not for credit, makes nobody say PING`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.welcomed(outbox)
        _ = try machine.submit([1])
        try Self.save(&machine, &outbox)
        _ = machine.flush(now: at(0))
        _ = machine.received(Self.receipt(1), now: at(0))
        machine.seen(1)
        try Self.save(&machine, &outbox)
        _ = try machine.submit([2])
        #expect(machine.flush(now: at(0)) == [])
    }

    @Test func `The last input that the credit lets pass waits for the disk, and nobody says PING`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.machine(outbox)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(credit: 2), now: at(0))
        _ = try machine.submit([1])
        try Self.save(&machine, &outbox)
        _ = machine.flush(now: at(0))
        _ = machine.received(Self.receipt(1, credit: 2), now: at(0))
        machine.seen(1)
        try Self.save(&machine, &outbox)
        _ = try machine.submit([2])
        #expect(machine.flush(now: at(0)) == [])
        try Self.save(&machine, &outbox)
        #expect(Self.sent(machine.flush(now: at(0))) == [2])
    }

    @Test func `An outcome is confirmed when it was seen and that is on disk`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.welcomed(outbox)
        for number in 1...2 { _ = try machine.submit([UInt8(number)]) }
        try Self.save(&machine, &outbox)
        _ = machine.flush(now: at(0))
        let answered = machine.received(Self.receipt(1), now: at(0))
        #expect(answered == [.answered(Outcome(sequence: 1, turn: 11, verdict: .applied))])
        try Self.save(&machine, &outbox)
        let unseen = machine.ticked(now: at(2))
        machine.seen(1)
        let unsaved = machine.ticked(now: at(4))
        try Self.save(&machine, &outbox)
        let saved = machine.ticked(now: at(5.5))
        #expect(Self.confirmed(unseen) == 0 && Self.confirmed(unsaved) == 0 && Self.confirmed(saved) == 1)
        #expect(outbox.inputs.map(\.sequence) == [2])
    }

    @Test func `No more is taken than an outbox keeps, until outcomes are seen`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        // An input counts 32 bytes beside its own; those of the one that is taken are not there yet.
        var machine = Self.machine(outbox, keptBytes: 67)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        for number in 1...2 {
            _ = try machine.submit([UInt8(number)])
            try Self.save(&machine, &outbox)
            _ = machine.flush(now: at(0))
            _ = machine.received(Self.receipt(number), now: at(0))
        }
        #expect(try machine.submit([3]) == 3, "one byte beside 66")
        #expect(throws: ClientMachine.SubmitError.backlogFull) { try machine.submit([4]) }
        machine.seen(1)
        machine.seen(1)
        #expect(try machine.submit([4]) == 4)
        #expect(throws: ClientMachine.SubmitError.backlogFull) { try machine.submit([5]) }
    }

    @Test func `Outcomes of another timeline that nobody saw take no room from inputs`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.machine(outbox, keptBytes: 33)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        _ = try machine.submit([1])
        try Self.save(&machine, &outbox)
        _ = machine.received(Self.receipt(1), now: at(0))
        #expect(throws: ClientMachine.SubmitError.backlogFull) { try machine.submit([2]) }
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(1))
        _ = machine.received(Self.welcome(of: abroad), now: at(1))
        #expect(try machine.submit([2]) == 2)
    }

    @Test func `The next process goes on with session, numbers and inputs, and its HELLO is newer`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.machine(outbox)
        let first = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        for number in 1...3 { _ = try machine.submit([UInt8(number)]) }
        try Self.save(&machine, &outbox)
        _ = machine.received(Self.receipt(1), now: at(0))
        machine.seen(1)
        // Answered, but nobody has seen it when the process dies.
        _ = machine.received(Self.receipt(2), now: at(0))
        try Self.save(&machine, &outbox)

        let reopened = outbox.reopened(as: .zero)
        var next = Self.machine(reopened)
        #expect(next.open == [2, 3])
        let greeting = next.ticked(now: at(0))
        _ = next.received(Self.welcome(expected: 4), now: at(0))
        next.saved()
        let flushed = next.flush(now: at(0))
        #expect(Self.sent(flushed) == [2, 3])
        #expect(try next.submit([9]) == 4)
        let hellos = [first, greeting].flatMap { $0 }.compactMap { action -> Hello? in
            if case .send(let envelope) = action, case .hello(let hello) = envelope.frame { hello } else { nil }
        }
        #expect(hellos.count == 2 && hellos[1].epoch > hellos[0].epoch + 1_000)
        #expect(hellos.allSatisfy(\.isDurable) && hellos[0].role == hellos[1].role && hellos[1].witness >= 9)
    }

    @Test func `Who leaves with something unanswered keeps it and says no goodbye`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.welcomed(outbox)
        _ = try machine.submit([1])
        try Self.save(&machine, &outbox)
        let closed = machine.close()
        try Self.save(&machine, &outbox)
        #expect(closed == [.unknown(sequence: 1, .kept), .stop])
        #expect(outbox.inputs.map(\.sequence) == [1])
    }

    @Test func `Who leaves with nothing left ends its session`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.welcomed(outbox)
        _ = try machine.submit([1])
        try Self.save(&machine, &outbox)
        _ = machine.received(Self.receipt(1), now: at(0))
        machine.seen(1)
        try Self.save(&machine, &outbox)
        let closed = machine.close()
        #expect(closed == [.send(Envelope(.goodbye, timeline: home)), .stop])
    }

    @Test func `Who leaves before the end of the last input is on disk says no goodbye`() throws {
        for (isSeen, isSaved) in [(false, true), (true, false), (true, true)] {
            var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
            var machine = Self.machine(outbox)
            _ = machine.ticked(now: at(0))
            _ = machine.received(Self.welcome(), now: at(0))
            _ = try machine.submit([1])
            _ = machine.received(Self.receipt(1), now: at(0))
            try Self.save(&machine, &outbox)
            if isSeen { machine.seen(1) }
            if isSaved { try Self.save(&machine, &outbox) }
            let goodbye = isSeen && isSaved ? [ClientMachine.Action.send(Envelope(.goodbye, timeline: home))] : []
            #expect(machine.close() == goodbye + [.stop], "seen \(isSeen), saved \(isSaved)")
        }
    }

    @Test func `Entries are to be written once, and an outcome is seen once`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.machine(outbox)
        _ = try machine.submit([1])
        #expect(machine.takeEntries() == [.input(Submission(sequence: 1, input: [1]))])
        #expect(machine.takeEntries() == [])
        try outbox.add(.input(Submission(sequence: 1, input: [1])))
        _ = machine.received(Self.receipt(1), now: at(0))
        machine.seen(1)
        #expect(machine.takeEntries() == [], "there was no answer yet")
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(), now: at(0))
        _ = machine.received(Self.receipt(1), now: at(0))
        machine.seen(1)
        machine.seen(1)
        #expect(machine.takeEntries() == [.welcomed(home, head: 9), .seen(sequence: 1)])
    }

    @Test func `What a next process begins with is on disk: it is sent and confirmed as it is`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5), next: 7)
        for number in 7...8 { try outbox.add(.input(Submission(sequence: number, input: [1]))) }
        var machine = Self.machine(outbox)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(expected: 7), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(Self.sent(flushed) == [7, 8] && Self.confirmed(flushed) == 6)
        _ = try machine.submit([1])
        #expect(machine.flush(now: at(0)) == [])
    }

    @Test func `In another timeline nothing is confirmed, sent or seen before that is on disk`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.welcomed(outbox)
        for number in 1...3 { _ = try machine.submit([UInt8(number)]) }
        try Self.save(&machine, &outbox)
        for number in 1...2 { _ = machine.received(Self.receipt(number), now: at(0)) }
        machine.seen(1)
        try Self.save(&machine, &outbox)
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(1))
        _ = machine.received(Self.welcome(of: abroad), now: at(1))
        let ping = machine.ticked(now: at(2))
        #expect(Self.confirmed(ping) == 0, "1 was confirmed in the timeline before")
        #expect(try machine.submit([4]) == 4)
        #expect(machine.flush(now: at(2)) == [])
        try Self.save(&machine, &outbox)
        let flushed = machine.flush(now: at(2))
        #expect(Self.sent(flushed) == [1])
        // The outcome of 2 was never seen; it is of the former timeline, and holds up nothing.
        let outcome = Outcome(sequence: 1, turn: 3, verdict: .applied)
        _ = machine.received(Envelope(.receipt([outcome], credit: 100), timeline: abroad), now: at(2))
        machine.seen(2)
        machine.seen(4)
        #expect(machine.takeEntries() == [.seen(sequence: 1)])
        machine.saved()
        let pinged = machine.ticked(now: at(4))
        #expect(Self.confirmed(pinged) == 1)
    }

    @Test func `An outcome that nobody saw in one timeline holds up nothing in the next`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.welcomed(outbox)
        _ = try machine.submit([1])
        _ = machine.received(Self.receipt(1), now: at(0))
        try Self.save(&machine, &outbox)
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(1))
        _ = machine.received(Self.welcome(of: abroad), now: at(1))
        try Self.save(&machine, &outbox)
        #expect(machine.close() == [.send(Envelope(.goodbye, timeline: abroad)), .stop])
    }

    @Test func `Inputs of an expired session are unknown and leave the outbox, those of another refusal are told as kept`() throws {
        let kept: [PeerError.Code] = [.superseded, .schema, .misuse, .forbidden]
        for (code, isKept) in [(PeerError.Code.sessionExpired, false)] + kept.map({ ($0, true) }) {
            var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
            try outbox.add(.input(Submission(sequence: 1, input: [1])))
            var machine = Self.machine(outbox)
            _ = machine.ticked(now: at(0))
            let actions = machine.received(Envelope(.error(PeerError(code, "so it is")), timeline: home), now: at(0))
            try Self.save(&machine, &outbox)
            #expect(actions.first == .unknown(sequence: 1, isKept ? .kept : .refused("so it is")), "\(code)")
            #expect(actions.last == .refused(PeerError(code, "so it is")))
            #expect(outbox.inputs.map(\.sequence) == (isKept ? [1] : []), "\(code)")
        }
    }

    @Test func `A session that the store has forgotten is over: its inputs are not kept`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5), next: 3)
        try outbox.add(.input(Submission(sequence: 3, input: [1])))
        var machine = Self.machine(outbox)
        _ = machine.ticked(now: at(0))
        let actions = machine.received(Self.welcome(expected: 1), now: at(0))
        try Self.save(&machine, &outbox)
        let text = "the store expects input 1 of this session, which is at 3"
        #expect(actions.contains(.unknown(sequence: 3, .refused(text))) && outbox.isEmpty)
    }

    @Test func `What was asked for is in no outbox, and ends with the client, whatever ends it`() throws {
        for isRefused in [false, true] {
            var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
            var machine = Self.welcomed(outbox)
            _ = try machine.submit([1])
            _ = try machine.settle(turn: 5, now: at(0))
            let page = PageRequest.views(after: 3, in: home)
            _ = try machine.request(page, now: at(0))
            try Self.save(&machine, &outbox)
            let error = Envelope(.error(PeerError(.superseded, "two")), timeline: home)
            let end = isRefused ? machine.received(error, now: at(1)) : machine.close()
            let reason = isRefused ? ClientMachine.UnknownReason.refused("two") : .closed
            #expect(
                end.prefix(3) == [.unknown(sequence: 1, .kept), .unsettled(turn: 5, reason), .pageless(page, reason)],
                "refused: \(isRefused)")
        }
    }

    @Test func `Inputs of another timeline are unknown and leave the outbox`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        try outbox.add(.welcomed(home, head: 3))
        try outbox.add(.input(Submission(sequence: 1, input: [1])))
        var machine = Self.machine(outbox)
        _ = machine.ticked(now: at(0))
        let actions = machine.received(Self.welcome(of: abroad), now: at(0))
        try Self.save(&machine, &outbox)
        #expect(actions.contains(.unknown(sequence: 1, .timelineChanged)))
        #expect(outbox.inputs.isEmpty && outbox.timeline == abroad)
        #expect(try machine.submit([2]) == 2)
        try Self.save(&machine, &outbox)
        let flushed = machine.flush(now: at(0))
        #expect(Self.sent(flushed) == [1], "numbers begin again on the wire")
        #expect(outbox.inputs.map(\.sequence) == [1])
    }

    @Test(arguments: [1, 2, 3])
    func `An outbox goes on with the number that a journal expects which goes on from another`(_ expected: Int) throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5), openings: 7)
        var machine = Self.welcomed(outbox)
        for number in 1...3 { _ = try machine.submit([UInt8(number)]) }
        try Self.save(&machine, &outbox)
        for number in 1...2 { _ = machine.received(Self.receipt(number), now: at(0)) }
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(1))
        _ = machine.received(Self.welcome(expected: expected, of: abroad), now: at(1))
        #expect(try machine.submit([4]) == 4)
        try Self.save(&machine, &outbox)
        #expect(outbox.inputs.map(\.sequence) == [expected] && outbox.openings == 7 && outbox.timeline == abroad)
        let flushed = machine.flush(now: at(1))
        #expect(Self.sent(flushed) == [expected])
    }

    @Test(arguments: [1, 2])
    func `WELCOME alone notes that numbers begin at 1 again, another number has an entry of its own`(_ expected: Int) throws {
        let session = SessionID(high: 5, low: 5)
        var outbox = ClientOutbox(session: session, openings: 7)
        var machine = Self.welcomed(outbox)
        _ = try machine.submit([1])
        try Self.save(&machine, &outbox)
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(1))
        _ = machine.received(Self.welcome(expected: expected, of: abroad), now: at(1))
        let other: [OutboxEntry] = expected == 1 ? [] : [.opened(session: session, openings: 7, next: expected)]
        #expect(machine.takeEntries() == other + [.welcomed(abroad, head: 9)])
    }

    @Test func `The outcome that holds inputs up is known by its number`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.machine(outbox)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(credit: 2), now: at(0))
        for number in 1...3 { _ = try machine.submit([UInt8(number)]) }
        try Self.save(&machine, &outbox)
        _ = machine.flush(now: at(0))
        let before = machine.heldUpBy
        for number in 1...2 { _ = machine.received(Self.receipt(number, credit: 2), now: at(0)) }
        let held = machine.heldUpBy
        machine.seen(1)
        let next = machine.heldUpBy
        #expect(before == nil && held == 1 && next == 2)
    }

    @Test func `While no input waits, no outcome holds anything up`() throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.machine(outbox)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(credit: 1), now: at(0))
        _ = try machine.submit([1])
        try Self.save(&machine, &outbox)
        _ = machine.flush(now: at(0))
        _ = machine.received(Self.receipt(1, credit: 1), now: at(0))
        let before = machine.heldUpBy
        _ = try machine.submit([2])
        let held = machine.heldUpBy
        #expect(before == nil && held == 1)
    }

    @Test(arguments: [2, 100])
    func `An input that waits for the connection, and would be taken, is held up by no outcome`(_ credit: Int) throws {
        var outbox = ClientOutbox(session: SessionID(high: 5, low: 5))
        var machine = Self.machine(outbox)
        _ = machine.ticked(now: at(0))
        _ = machine.received(Self.welcome(credit: credit), now: at(0))
        _ = try machine.submit([1])
        try Self.save(&machine, &outbox)
        _ = machine.flush(now: at(0))
        _ = machine.received(Self.receipt(1, credit: credit), now: at(0))
        _ = machine.disconnected(now: at(1))
        _ = try machine.submit([2])
        let held = machine.heldUpBy
        #expect(held == nil)
    }
}
