import SamovarLoad
import Testing

struct SendScheduleTests {
    @Test func `Clients take turns, and all inputs together come at the rate`() {
        let schedules = (0..<3).map { SendSchedule(client: $0, of: 3, rate: 1_000, duration: 10_000) }
        #expect(schedules.map(\.count) == [4, 3, 3])
        let due = schedules.flatMap { schedule in (0..<schedule.count).map { schedule.due($0) } }
        #expect(due.sorted() == (0..<10).map { Int64($0) * 1_000 })
    }
}
