import SamovarLoad
import Testing

struct AdmissionTests {
    @Test func `A few connect at a time, and each welcome makes room for the next`() {
        var admission = Admission(of: 1_000)
        #expect(admission.count == 0)
        for expected in [16, 32, 48, 64, 64] {
            admission.advance(connected: 0)
            #expect(admission.count == expected)
        }
        admission.advance(connected: 3)
        #expect(admission.count == 67)
        admission.advance(connected: 60)
        #expect(admission.count == 83)
    }

    @Test func `Who is in stays in when connections break`() {
        var admission = Admission(of: 1_000)
        for _ in 0..<20 { admission.advance(connected: 200) }
        #expect(admission.count == 264)
        admission.advance(connected: 10)
        #expect(admission.count == 264)
    }

    @Test func `No more are let in than there are`() {
        var admission = Admission(of: 20)
        for _ in 0..<3 { admission.advance(connected: 20) }
        #expect(admission.count == 20)
    }
}
