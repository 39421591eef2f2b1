import MessagePack
import SamovarCore

/// A part of a state or of a view: how a past has it, and how the program's own types have it.
struct PastPart {
    let name: String
    /// In the present state of a past, in MessagePack.
    let find: (SimulatedPast) throws -> [UInt8]?
    let value: (ModelProgram.State) -> [UInt8]?

    static func drawn(_ random: inout SeededRandom) -> PastPart {
        let timer = ModelProgram.name(random.number(0...TimerSpec.places - 1))
        let work = random.pick(Work.allCases).rawValue
        return random.pick([
            PastPart(name: "view", find: { try $0.view() }, value: { packed(ModelProgram.view($0)) }),
            PastPart(name: "view.checksum", find: { element(1, of: try $0.view()) }, value: { packed($0.tally.checksum) }),
            PastPart(name: "state", find: { try $0.state() }, value: { packed($0) }),
            inState(["tally", "messages"]) { packed($0.tally.messages) },
            inState(["orders", work]) { $0.orders[work].map { packed($0) } },
            inState(["timers", timer]) { $0.timers[timer].map { packed($0) } },
            inState(["timers", timer, "count"]) { $0.timers[timer].map { packed($0.count) } },
        ])
    }

    private static func inState(_ keys: [String], _ value: @escaping (ModelProgram.State) -> [UInt8]?) -> PastPart {
        PastPart(name: "state.\(keys.joined(separator: "."))", find: { part(keys, of: try $0.state()) }, value: value)
    }
}

/// Something that is true of a state or not.
struct PastQuestion {
    let name: String
    let ask: (SimulatedPast) throws -> Bool
    let answer: (ModelProgram.State) -> Bool

    /// Most become true at a turn that is drawn, and are false again behind it, or not; one never does.
    static func drawn(_ states: ArraySlice<ModelProgram.State>, _ random: inout SeededRandom) -> PastQuestion {
        let tally = states[random.number(states.startIndex...states.endIndex - 1)].tally
        let (messages, checksum) = (packed(tally.messages), packed(tally.checksum))
        let timer = ModelProgram.name(random.number(0...TimerSpec.places - 1))
        return random.pick([
            PastQuestion(
                name: "the checksum is \(tally.checksum)", ask: { element(1, of: try $0.view()) == checksum },
                answer: { $0.tally.checksum == tally.checksum }),
            PastQuestion(
                name: "there were \(tally.messages) messages", ask: { element(0, of: try $0.view()) == messages },
                answer: { $0.tally.messages == tally.messages }),
            PastQuestion(
                name: "there is \(timer)", ask: { part(["timers", timer], of: try $0.state()) != nil },
                answer: { $0.timers[timer] != nil }),
            PastQuestion(
                name: "the invariant is broken", ask: { try !$0.keeps(invariant: 0) },
                answer: { !ModelProgram.invariants[0].holds($0) }),
            PastQuestion(name: "there is no tally", ask: { part(["tally"], of: try $0.state()) == nil }, answer: { _ in false }),
        ])
    }
}

/// What is under some keys, each in the map under the one before; nil if there is nothing, or no value.
private func part(_ keys: [String], of bytes: [UInt8]) -> [UInt8]? {
    var reader = MessagePackReader(bytes)
    do {
        for key in keys { guard try reader.enter(key) else { return nil } }
        return Array(try reader.readRaw())
    } catch {
        return nil
    }
}

/// An element of a sequence; nil if there is none, or no sequence.
private func element(_ index: Int, of bytes: [UInt8]) -> [UInt8]? {
    var reader = MessagePackReader(bytes)
    do {
        guard index < (try reader.readArrayHeader()) else { return nil }
        for _ in 0..<index { try reader.skip() }
        return Array(try reader.readRaw())
    } catch {
        return nil
    }
}

extension MessagePackReader {
    /// Goes to the value under a key; false if there is none.
    fileprivate mutating func enter(_ key: String) throws(MessagePackError) -> Bool {
        for _ in 0..<(try readMapHeader()) {
            if try readString() == key { return true }
            try skip()
        }
        return false
    }
}
