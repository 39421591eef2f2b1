import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// When subscribers hear that nothing is left to do.
@Suite struct IdleNoticeTests {
    private func idle(_ notice: inout IdleNotice, _ time: Double) -> Bool {
        notice.idle(now: at(time), pause: .seconds(1), interval: .seconds(10))
    }

    @Test func `It is told once, after a pause`() {
        var notice = IdleNotice()
        #expect(!idle(&notice, 1) && notice.due == at(2))
        #expect(!idle(&notice, 1.9) && notice.due == at(2), "the pause does not begin anew")
        #expect(idle(&notice, 2) && notice.due == nil)
        #expect(!idle(&notice, 99) && notice.due == nil)
    }

    @Test func `What comes in between begins the pause anew`() {
        var notice = IdleNotice()
        _ = idle(&notice, 1)
        notice.busy()
        #expect(notice.due == nil)
        #expect(!idle(&notice, 2) && notice.due == at(3))
    }

    @Test func `It is not told again and again`() {
        var notice = IdleNotice()
        _ = idle(&notice, 1)
        #expect(idle(&notice, 2))
        notice.busy()
        #expect(!idle(&notice, 3) && notice.due == at(12))
        #expect(!idle(&notice, 11.9) && idle(&notice, 12))
        notice.busy()
        #expect(!idle(&notice, 40) && notice.due == at(41), "long after the last one, only the pause counts")
    }
}
