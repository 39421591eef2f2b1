import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What deaths say of the calls in which they happened.
@Suite struct SuspectsTests {
    private static func input(_ number: Int) -> ProgramCall { .input(SessionID(high: 1, low: 1), sequence: number) }

    private static let settings: StoreSettings = {
        var settings = StoreSettings()
        (settings.trapDeaths, settings.trapKills, settings.trapSuspects) = (3, 10, 4)
        return settings
    }()

    /// The suspects after these deaths, each of which the process after it has read.
    private static func after(_ deaths: [Suspicion.Death], _ suspects: [Suspicion.Suspect] = []) -> Suspects {
        deaths.reduce(Suspects(Suspicion(suspects: suspects), settings: settings)) {
            Suspects(Suspicion(death: $1, suspects: $0.list), settings: settings)
        }
    }

    private static func trap(_ call: ProgramCall, isAlone: Bool = true) -> Suspicion.Death {
        Suspicion.Death(call: call, wasAlone: isAlone, evidence: .signal(4))
    }

    private static func kill(_ call: ProgramCall, isAlone: Bool = true) -> Suspicion.Death {
        Suspicion.Death(call: call, wasAlone: isAlone, evidence: .none)
    }

    @Test func `Three traps alone are enough, and two are not`() {
        let call = Self.input(1)
        let two = Self.after([Self.trap(call), Self.trap(call)])
        #expect(two.verdict(on: call) == nil && two.contains(call) && !two.isEmpty)
        let three = Self.after([Self.trap(call), Self.trap(call), Self.trap(call)])
        let text = "the store ended 3 times while it \(call.activity), each time alone (a trap, signal 4)"
        #expect(three.verdict(on: call) == text && three.verdict(on: Self.input(2)) == nil && !three.contains(Self.input(2)))
    }

    @Test func `Ten unexplained deaths alone are enough, and nine are not`() {
        let call = Self.input(1)
        #expect(Self.after(Array(repeating: Self.kill(call), count: 9)).verdict(on: call) == nil)
        let text = "the store ended 10 times while it \(call.activity), each time alone (killed, or out of memory)"
        #expect(Self.after(Array(repeating: Self.kill(call), count: 10)).verdict(on: call) == text)
    }

    @Test func `A death in company makes a suspect, and counts for nothing`() {
        let call = Self.input(1)
        let both = [Self.trap(call, isAlone: false), Self.kill(call, isAlone: false)]
        let suspects = Self.after(Array(repeating: both, count: 20).flatMap { $0 })
        #expect(suspects.contains(call) && suspects.verdict(on: call) == nil)
        #expect(suspects.list.map { [$0.deaths, $0.kills] } == [[0, 0]])
        #expect(suspects.list[0].evidence == .signal(4), "a kill takes no evidence away")
    }

    @Test func `A call that has returned is cleared of kills, and one that is cleared is no suspect`() {
        let call = Self.input(1)
        var suspects = Self.after([Self.trap(call), Self.kill(call), Self.kill(call), Self.kill(Self.input(2))])
        suspects.forgiveKills(Self.input(3))
        suspects.forgiveKills(call)
        #expect(suspects.list.map { [$0.deaths, $0.kills] } == [[1, 0], [0, 1]])
        suspects.clear(call)
        #expect(!suspects.contains(call) && suspects.contains(Self.input(2)) && !suspects.isEmpty)
        suspects.clear(Self.input(2))
        #expect(suspects.isEmpty)
    }

    @Test func `A turn of the journal is named by its refusal, and a start that was killed in a snapshot says nothing`() {
        #expect(Self.after([Self.trap(.replay(turn: 3)), Self.kill(.replay(turn: 3)), Self.kill(.restore)]).isEmpty)
        #expect(Self.after([Self.trap(.restore)]).contains(.restore))
    }

    @Test func `Beyond the limit, the one with the least against it is forgotten`() {
        let calls = (1...5).map(Self.input)
        let four = [Self.trap(calls[0]), Self.kill(calls[1]), Self.kill(calls[2]), Self.kill(calls[2]), Self.kill(calls[3])]
        #expect(Self.after(four).list.map(\.call) == [calls[0], calls[1], calls[2], calls[3]])
        let five = four + [Self.kill(calls[1]), Self.trap(calls[4])]
        #expect(Self.after(five).list.map(\.call) == [calls[0], calls[2], calls[1], calls[4]])
        // One that is known already takes no other's place.
        #expect(Self.after(four + [Self.kill(calls[3])]).list.map(\.call) == [calls[0], calls[1], calls[2], calls[3]])
        var settings = Self.settings
        settings.trapSuspects = 1_000
        let many = (1...100).reduce(Suspects(Suspicion(), settings: settings)) {
            Suspects(Suspicion(death: Self.kill(Self.input($1)), suspects: $0.list), settings: settings)
        }
        #expect(many.list.count == TrapMarker.capacity, "as many as the page has room for")
    }

    @Test func `The thread beside the service is suspected like any call`() {
        let death = Suspicion.Death(call: .maintenance, wasAlone: true, evidence: .signal(6))
        let suspects = Suspects(Suspicion(maintenanceDeath: death), settings: Self.settings)
        #expect(suspects.list.map(\.call) == [.maintenance])
        #expect(suspects.list[0].deaths == 1 && suspects.list[0].evidence == .signal(6))
    }
}
