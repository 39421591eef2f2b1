import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// When a view is due, and whether it is another one.
@Suite struct ViewPublisherTests {
    private let settings = StoreSettings()

    @Test func `The first view is due at once, and the next after the interval or what the last one cost`() {
        var views = ViewPublisher()
        #expect(views.dueTime(head: 0, settings: settings) == nil, "there is no turn to show")
        #expect(views.dueTime(head: 1, settings: settings) == Timestamp(microseconds: .min))
        #expect(views.take([1], turn: 1, now: at(1)) == true)
        #expect(views.isCurrent(head: 1) && !views.isCurrent(head: 2) && views.dueTime(head: 1, settings: settings) == nil)
        #expect(views.dueTime(head: 2, settings: settings) == at(1) + settings.viewInterval)
        views.note(cost: .milliseconds(5))
        #expect(views.dueTime(head: 2, settings: settings) == at(1) + .milliseconds(100))
        views.note(cost: .seconds(-5))
        #expect(views.dueTime(head: 2, settings: settings) == at(1) + .milliseconds(33), "a clock that was set back costs nothing")
    }

    @Test func `A view like the last one is looked at and not published, but for the first`() {
        var views = ViewPublisher()
        #expect(views.take([], turn: 1, now: at(1)) == true, "it has no bytes, and neither has none")
        #expect(views.take([], turn: 2, now: at(2)) == false)
        #expect(views.published == 1 && views.isCurrent(head: 2))
        #expect(views.take([1], turn: 3, now: at(3)) == true)
        #expect(views.take([1], turn: 4, now: at(4)) == false)
        #expect(views.take([], turn: 5, now: at(5)) == true)
        #expect(views.published == 5)
    }
}
