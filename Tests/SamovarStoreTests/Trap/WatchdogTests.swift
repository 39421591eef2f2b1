import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What is told of calls into the program that last.
struct WatchdogTests {
    private func call(_ number: UInt64, _ call: ProgramCall = .view) -> WatchdogPulse.Call {
        WatchdogPulse.Call(number: number, call: call, turn: 41)
    }

    @Test func `A call is told of after the limit, and again each time that it has lasted twice as long`() {
        var watch = Watchdog(limit: .seconds(10))
        let endless = call(7)
        let told = (0...100).filter { watch.look(endless, now: at(Double($0))) != nil }
        #expect(told == [10, 20, 40, 80])
    }

    @Test func `A look that comes late is told once, and with the time that has passed`() {
        var watch = Watchdog(limit: .seconds(10))
        #expect(watch.look(call(7), now: at(0)) == nil)
        #expect(watch.look(call(7), now: at(95)) == .lasts(call(7), .seconds(95)))
        #expect(watch.look(call(7), now: at(159)) == nil)
        #expect(watch.look(call(7), now: at(160)) == .lasts(call(7), .seconds(160)))
    }

    @Test func `Many short calls are no long one`() {
        var watch = Watchdog(limit: .seconds(10))
        for number in 0..<100 { #expect(watch.look(call(UInt64(number)), now: at(Double(number) * 9.9)) == nil) }
        #expect(watch.look(nil, now: at(1_000)) == nil)
    }

    @Test func `What was told of is told again when it has returned, be there another call or none`() {
        for next in [nil, call(9)] {
            var watch = Watchdog(limit: .seconds(10))
            _ = watch.look(call(7), now: at(0))
            _ = watch.look(call(7), now: at(12))
            #expect(watch.look(next, now: at(15)) == .returned(call(7), .seconds(15)))
            #expect(watch.look(next, now: at(16)) == nil)
        }
    }

    @Test func `The sentence names the call, the turn and the time`() {
        let effect = EffectID(turn: 3, ordinal: 1)
        #expect(
            "\(Watchdog.Event.lasts(call(1, .answer(effect)), .milliseconds(10_400)))"
                == "the program has not returned for 10 s since the store took the answer of effect 3/1, after turn 41: until it does, "
                + "nobody is answered")
        #expect(
            "\(Watchdog.Event.returned(call(1, .view), .seconds(34)))"
                == "the program has returned after 34 s, in which the store made a view")
    }

    @Test func `A limit below a millisecond counts as one`() {
        var watch = Watchdog(limit: .zero)
        #expect(watch.look(call(7), now: at(0)) == nil)
        #expect(watch.look(call(7), now: at(0) + .microseconds(999)) == nil)
        #expect(watch.look(call(7), now: at(0) + .milliseconds(1)) == .lasts(call(7), .milliseconds(1)))
    }

    @Test func `It looks often enough for a short limit, and seldom enough to cost nothing for a long one`() {
        #expect(Watchdog(limit: .seconds(10)).interval == .seconds(1))
        #expect(Watchdog(limit: .seconds(1)).interval == .milliseconds(250))
        #expect(Watchdog(limit: .zero).interval == .milliseconds(10))
    }

    // MARK: What it looks at

    @Test func `A marker tells which call is under way, and after which turn it began`() {
        let pulse = WatchdogPulse()
        let marker = TrapMarker(pulse: pulse)
        #expect(pulse.look() == nil)
        let input = ProgramCall.input(session(5), sequence: 3)
        marker.begin(input, isAlone: false, after: 41)
        let first = pulse.look()
        #expect(first?.call == input && first?.turn == 41)
        #expect(pulse.look() == first)
        marker.end()
        #expect(pulse.look() == nil)
        marker.begin(input, isAlone: false, after: 42)
        #expect(pulse.look()?.number != first?.number, "the same item again is another call")
    }

    @Test func `The start of a program begins after turn 0, for turn 1 is its own`() throws {
        let pulse = WatchdogPulse()
        var seen: WatchdogPulse.Call?
        let engine = TrapEngine { call in
            if call == .start { seen = pulse.look() }
            return false
        }
        _ = try Rig(engine: engine, marker: TrapMarker(pulse: pulse))
        #expect(seen?.call == .start && seen?.turn == 0)
    }

    @Test func `A call inside of another is seen in its place, and then the outer one again`() {
        let pulse = WatchdogPulse()
        let marker = TrapMarker(pulse: pulse)
        marker.begin(.start, isAlone: true, after: 0)
        marker.during(.view) { #expect(pulse.look()?.call == .view) }
        #expect(pulse.look()?.call == .start)
        marker.end()
        marker.during(.view) { #expect(pulse.look()?.call == .view) }
        #expect(pulse.look() == nil)
    }
}
