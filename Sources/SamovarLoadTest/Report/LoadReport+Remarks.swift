import SamovarLoad

extension LoadReport {
    /// What a reader of the figures should know, and what is no fault.
    ///
    /// - Parameters:
    ///   - isOwn: whether the test has started the store itself.
    ///   - rejection: why an input was rejected, for example.
    func remarks(isOwn: Bool, rejection: String?) -> [String] {
        var remarks: [String] = []
        if counts.due > counts.sent {
            // A problem may be another one.
            let cause = problems.isEmpty ? ", since the store did not keep up" : ""
            remarks.append(
                "\(countText(counts.due - counts.sent)) inputs were due and never sent\(cause): "
                    + "the latencies are those of the others, and too good.")
        }
        if counts.rejected > 0 {
            remarks.append("\(countText(counts.rejected)) inputs were rejected: \(rejection ?? "without a reason")")
        }
        if case .saturate = pace {
            remarks.append(
                "With --saturate a client waits for the store before it sends more, so latency means how long the queue is.")
        }
        remarks += settledRemarks
        if withoutView > 0 {
            remarks.append(
                "Of \(countText(withoutView)) inputs no view of their turn or a later one was measured: send → view is that of the others. "
                    + "An input that changes nothing in the view is followed by none.")
        }
        if counts.dead > 0 { remarks.append("\(countText(counts.dead)) effect\(counts.dead == 1 ? "" : "s") died.") }
        if !isOwn { remarks.append("The store was not started by this test, so its processor and memory are not in it.") }
        return remarks
    }

    private var settledRemarks: [String] {
        var remarks: [String] = []
        let measured = latencies.settled.count
        if measured < latencies.applied.count {
            remarks.append(
                "send → settled was measured for \(countText(measured)) inputs, chosen by their number before they were sent.")
        }
        if withoutEnd > 0 {
            remarks.append(
                "\(countText(withoutEnd)) inputs were chosen for send → settled, and their end was never told: "
                    + "the figures are those of the others, and too good.")
        }
        return remarks
    }
}

extension KillPlan {
    /// What is wrong with a test that went on to its end: a role of which none was killed, for none ran whenever a death was due.
    func problems(after kills: [LoadReport.Kill]) -> [String] {
        Role.allCases.filter { role in roles.contains(role) && !kills.contains { $0.role == role } }
            .map { "--kill \($0.rawValue): none was killed, for none ran when its death was due" }
    }
}
