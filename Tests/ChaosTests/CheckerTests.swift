import ChaosSupport
import MessagePack
import SamovarCore
import SamovarWire
import Testing

/// A checker that cannot fail proves nothing: each invariant is broken here at least once, by one doctored thing, and must be named.
struct CheckerTests {
    private func broken(_ doctor: (inout Evidence) throws -> Void) throws -> [String] {
        var evidence = try HonestWorld.evidence()
        try doctor(&evidence)
        return try Checker(evidence).violations.map(\.description)
    }

    @Test func `An honest story has no violation`() throws {
        #expect(try broken { _ in }.isEmpty)
    }

    // MARK: I1

    @Test func `I1 An answer that is not in the journal is lost`() throws {
        #expect(
            try broken { $0.calls["a.0"]?[3].turn = 44 } == [
                "I1 a.0 was told that a.0/1#2 is turn 44; the journal has no such turn there"
            ])
    }

    @Test func `I1 An answer that is in the journal at another turn is lost`() throws {
        #expect(
            try broken { $0.calls["a.0"]?[3].turn = 2 } == [
                "I1 a.0 was told that a.0/1#2 is turn 2; the journal has a.0/1#1 there"
            ])
    }

    @Test func `I1 An answer whose payload differs is lost, and what is there instead a phantom`() throws {
        let found = try broken {
            $0.story.records[2].event = try HonestWorld.applied(.written(Slate.Line(column: "a.0/1", number: 2, job: .slow)))
        }
        #expect(found.contains("I1 a.0 was told that a.0/1#2 is turn 3; the journal has a.0/1#2 there"))
        #expect(found.contains("I2 turn 3 writes a.0/1#2, which no client sent"))
    }

    @Test func `I1 A refusal that is not in the journal is lost`() throws {
        #expect(
            try broken { $0.calls["b.0"]?[1].step = .refused } == [
                "I1 b.0 was told that b.0/1#1 was refused as turn 7; the journal has b.0/1#1 there"
            ])
    }

    // MARK: I2

    @Test func `I2 A line that nobody sent is a phantom`() throws {
        #expect(try broken { $0.calls["b.0"] = [] } == ["I2 turn 7 writes b.0/1#1, which no client sent"])
    }

    @Test func `I2 An answer that no worker gave is a phantom`() throws {
        #expect(
            try broken { $0.attempts.removeAll { $0.step == .answered } } == [
                "I2 effect 2/0 (a.0/1#1) was answered, and no worker says so"
            ])
    }

    @Test func `I2 The end of an effect that nobody ordered is a phantom`() throws {
        let found = try broken { $0.story.records[8] = HonestWorld.record(9, .store, .done(EffectID(turn: 3, ordinal: 5))) }
        #expect(found.contains("I2 turn 9 closes effect 3/5, which nobody ordered (done)"))
    }

    @Test func `I2 A hole in the numbers of the journal is seen`() throws {
        #expect(try broken { $0.story.records[8].turn = 10 }.contains("I2 turn 10 comes after turn 8"))
    }

    // MARK: I3

    @Test func `I3 A line that is there twice is seen by the journal and by the program`() throws {
        let found = try broken {
            $0.story.records[8] = HonestWorld.record(
                9, .client(session: HonestWorld.b, sequence: 2), try HonestWorld.applied(.written(HonestWorld.third)))
        }
        #expect(found.contains("I3 turn 9 writes b.0/1#1 a second time"))
        #expect(found.contains("I3 the program noted: b.0/1#1 came after number 1"))
    }

    @Test func `I3 Lines in another order are seen`() throws {
        let found = try broken {
            let event = $0.story.records[1].event
            $0.story.records[1].event = $0.story.records[2].event
            $0.story.records[2].event = event
        }
        #expect(found.contains("I3 turn 2 writes a.0/1#2, and the numbers after 0 are missing"))
        #expect(found.contains("I3 turn 3 writes a.0/1#1 after number 2"))
    }

    @Test func `I3 A session with a hole is seen`() throws {
        #expect(
            try broken { $0.story.records[2].origin = .client(session: HonestWorld.a, sequence: 3) } == [
                "I3 session \(HonestWorld.a) has number 3 in the journal as its 2th"
            ])
    }

    @Test func `I3 A column that two sessions wrote is seen`() throws {
        let found = try broken { $0.story.records[2].origin = .client(session: HonestWorld.b, sequence: 1) }
        #expect(found.contains("I3 column a.0/1 was written by 2 sessions"))
    }

    // MARK: I4

    @Test func `I4 A replay with another state is seen`() throws {
        let found = try broken { $0.heads[1].view = try #require($0.sightings["s.0"]?[0].view) }
        #expect(found.count == 1)
        #expect(found[0].hasPrefix("I4 replay 1 has at the head ViewState("))
    }

    // MARK: I5

    @Test func `I5 An effect that ran and is not in the journal ran too early`() throws {
        #expect(
            try broken {
                $0.attempts.append(HonestWorld.attempt(EffectID(turn: 3, ordinal: 0), "x#1", .started))
            } == ["I5 x#1 ran as effect 3/0, for which the journal has nothing"])
    }

    @Test func `I5 An effect whose turn became another one ran too early`() throws {
        #expect(
            try broken { $0.attempts.append(HonestWorld.attempt(EffectID(turn: 7, ordinal: 0), "x#1", .started)) } == [
                "I5 x#1 ran as effect 7/0, for which the journal has b.0/1#1"
            ])
    }

    @Test func `I5 An effect of another timeline is seen`() throws {
        #expect(
            try broken { $0.attempts[0].key = "elsewhere/2/0" } == [
                "I5 a.0/1#1 ran as elsewhere/2/0, which is of another timeline"
            ])
    }

    // MARK: I6

    @Test func `I6 A completion that is applied twice is seen`() throws {
        let found = try broken {
            $0.story.records[8] = HonestWorld.record(
                9, .effect(EffectID(turn: 2, ordinal: 0), lease: Lease(start: 2, counter: 9), index: 0),
                try HonestWorld.applied(.answered(job: HonestWorld.first.name), closes: true))
        }
        #expect(found.contains("I6 effect 2/0 (a.0/1#1) was completed 2 times, in turns [5, 9]"))
        #expect(found.contains("I6 the answer of effect 2/0 (a.0/1#1) was applied in turns [5, 9]"))
        #expect(found.contains("I3 the program noted: a.0/1#1 was answered and is not open"))
    }

    @Test func `I6 An effect that is closed and never ran is seen`() throws {
        let found = try broken { $0.attempts.removeAll { $0.job == HonestWorld.third.name } }
        #expect(found == ["I6 effect 7/0 (b.0/1#1) is closed (dead: failed after 1 attempt: cannot be done) and never ran"])
    }

    // MARK: I7

    @Test func `I7 An older view after a newer one is seen`() throws {
        #expect(try broken { $0.sightings["s.0"]?.swapAt(0, 1) } == ["I7 s.0 was shown turn 2 after turn 5"])
    }

    @Test func `I7 A view that its turn does not give is seen`() throws {
        let found = try broken { evidence in
            let other = try #require(evidence.sightings["s.0"]?[1].view)
            evidence.sightings["s.0"]?[0].view = other
        }
        #expect(found.count == 1)
        #expect(found[0].hasPrefix("I7 s.0 was shown at turn 2 ViewState("))
    }

    @Test func `I7 A subscriber that does not reach the head is seen`() throws {
        #expect(try broken { $0.sightings["s.0"]?.removeLast() } == ["I7 s.0 ended with turn 5, and the head is 9"])
        #expect(try broken { $0.sightings = [:] } == ["I7 s.0 ended with turn none, and the head is 9"])
    }

    @Test func `I7 A view of another timeline is seen`() throws {
        #expect(try broken { $0.sightings["s.0"]?[0].timeline = "elsewhere" } == ["I7 s.0 was shown timeline elsewhere"])
    }

    // MARK: I8

    @Test func `I8 A start number that is used twice is seen`() throws {
        #expect(
            try broken { $0.story.records[5].event = HonestWorld.started(1) } == ["I8 start 2 of the store calls itself 1"])
    }

    @Test func `I8 A lease for two effects is seen`() throws {
        let found = try broken {
            $0.story.records[8] = HonestWorld.record(
                9, .effect(EffectID(turn: 7, ordinal: 0), lease: Lease(start: 1, counter: 1), index: 0),
                try HonestWorld.applied(.balanced))
        }
        #expect(found.contains("I8 lease 1.1 was given for effects 2/0 and 7/0"))
    }

    @Test func `I8 A lease of a start that is still to come is seen`() throws {
        #expect(
            try broken {
                $0.story.records[4].origin = .effect(EffectID(turn: 2, ordinal: 0), lease: Lease(start: 2, counter: 1), index: 0)
            } == ["I8 lease 2.1 answered in start 1"])
    }

    // MARK: I9, I10, I12, I13

    @Test func `I9 A call without an answer is seen, unless its client was killed`() throws {
        #expect(try broken { $0.calls["b.0"]?.removeLast() } == ["I9 b.0 never had an answer to b.0/1#1"])
        #expect(
            try broken {
                $0.calls["b.0"]?.removeLast()
                $0.killedLives = ["b.0"]
            }.isEmpty)
    }

    @Test func `I9 An effect that stays open is seen`() throws {
        let found = try broken { $0.story.records[7] = HonestWorld.record(8, .store, .drained) }
        #expect(found == ["I9 effect 7/0 (b.0/1#1) is open"])
    }

    @Test func `I9 I10 I13 What the torment itself found is told`() throws {
        #expect(
            try broken {
                $0.unfinished = ["too slow"]
                $0.excesses = ["too much"]
                $0.unexpectedEnds = ["too soon"]
            } == ["I9 too slow", "I10 too much", "I13 too soon"])
    }

    @Test func `I12 A client that is told nothing certain is seen`() throws {
        #expect(
            try broken {
                $0.calls["b.0"]?[1].step = .unknown
                $0.calls["b.0"]?[1].reason = "who knows"
            } == ["I12 b.0 was told that b.0/1#1 is unknown: who knows"])
    }
}
