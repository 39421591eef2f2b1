/// What is measured for `status` and `metrics`: by the host, because the machine has no clock, and by samples of what is counted.
struct Measurements {
    var rounds = DurationHistogram()
    var views = DurationHistogram()
    /// The newest turn before this process.
    var firstTurn = 0
    /// What was counted some seconds ago.
    var recent = RecentPast()
    /// What the host knew last of its process and its disk.
    var process: ProcessFacts?
    /// The last turn that the journal does not keep any more; 0 if it has all of them, as far as the host has told.
    var trimmed = 0
}
