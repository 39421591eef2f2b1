import Journal
import Testing

@Suite struct RetentionTests {
    @Test func `Nothing goes before two snapshots were verified`() {
        #expect(Retention.limit(last: 1_000, keeping: 10, verified: []) == nil)
        #expect(Retention.limit(last: 1_000, keeping: 10, verified: [900]) == nil)
    }

    @Test func `What is behind the older of two snapshots goes unless it is to be kept`() {
        #expect(Retention.limit(last: 1_000, keeping: 10, verified: [900, 600, 300]) == 600)
        #expect(Retention.limit(last: 1_000, keeping: 500, verified: [900, 600, 300]) == 500)
        #expect(Retention.limit(last: 1_000, keeping: 1_000, verified: [900, 600]) == nil)
        #expect(Retention.limit(last: 1_000, keeping: 5_000, verified: [900, 600]) == nil)
    }
}
