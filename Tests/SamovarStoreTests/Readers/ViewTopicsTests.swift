import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What subscribers ask for at the view socket, as libzmq reports it, and when it is too much.
struct ViewTopicsTests {
    private func report(_ first: UInt8, _ topic: String, end: [UInt8] = [0]) -> [UInt8] { [first] + Array(topic.utf8) + end }

    /// Whether a socket had to be closed after each report, and what is counted in the end.
    private func hear(_ reports: [[UInt8]], limit: Int) -> (closed: [Bool], topics: ViewTopics) {
        var topics = ViewTopics(limit: limit)
        let closed = reports.map { report in
            let isTooMuch = topics.received(report)
            if isTooMuch { topics.restart(with: []) }
            return isTooMuch
        }
        return (closed, topics)
    }

    @Test func `Topics are counted once`() {
        let asked = [report(1, "view/main"), report(1, "view/main"), report(1, "view/other")]
        let (closed, topics) = hear(asked, limit: 2)
        #expect(closed == [false, false, false])
        #expect(topics.count == 2 && topics.foreign == 0)
    }

    @Test func `What is no topic of an instance is counted as foreign, too`() {
        let foreign = [
            report(1, "view/main", end: []), report(1, "views/main"), [1], report(1, "view/" + String(repeating: "v", count: 195)),
        ]
        let known = [report(1, "view/" + String(repeating: "v", count: 194))]
        let topics = hear(foreign + known, limit: 10).topics
        #expect(topics.count == 5 && topics.foreign == 4)
        #expect(hear([[1], [1]], limit: 10).topics.foreign == 1)
    }

    @Test func `Beyond the limit a socket has to be closed, and all begins anew`() {
        let (closed, topics) = hear([report(1, "view/a"), report(1, "b"), report(1, "view/c")], limit: 2)
        #expect(closed == [false, false, true])
        #expect(topics.count == 0 && topics.foreign == 0 && topics.overruns == 1)
        let (again, more) = hear([report(1, "a"), report(1, "b"), report(1, "c"), report(1, "a")], limit: 2)
        #expect(again == [false, false, true, false])
        #expect(more.count == 1 && more.overruns == 1)
    }

    @Test func `What is wanted at another socket is counted on`() {
        var topics = ViewTopics(limit: 1)
        #expect(!topics.received(report(1, "view/main")) && topics.received(report(1, "a")))
        topics.restart(with: [Array("view/main\0".utf8)])
        #expect(topics.count == 1 && topics.overruns == 1 && topics.received(report(1, "b")))
    }

    /// libzmq says that a topic is gone when any peer takes it back that has not asked for it, and keeps it for who has.
    @Test func `Taking back makes no room`() {
        let reports = (0..<3).flatMap { [report(1, "view/\($0)"), report(0, "view/\($0)")] }
        #expect(hear(reports, limit: 2).closed == [false, false, false, false, true, false])
    }

    @Test func `A topic that is asked for and taken back again and again is never too much`() {
        let reports = (0..<3).flatMap { _ in [report(1, "view/main"), report(0, "view/main")] }
        #expect(hear(reports, limit: 1).closed == Array(repeating: false, count: 6))
    }

    @Test func `Messages that are no report are too much at some time`() {
        #expect(hear([[], [2], [255, 1, 2], report(0, "none")], limit: 3).closed == [false, false, false, true])
        #expect(hear([[], [2]], limit: 2).topics.count == 0)
        #expect(hear([[], [], [], []], limit: 1).closed == [false, true, false, true], "and then as many again")
    }
}
