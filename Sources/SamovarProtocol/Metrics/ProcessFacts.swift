/// What the host of a store knows of its process and its files, for `metrics`.
public struct ProcessFacts: Equatable, Sendable {
    /// Since the process began, in user and system mode.
    public var processorSeconds: Double
    public var residentBytes: Int
    /// Nil if the journal is in no file of this machine.
    public var journalBytes: Int?

    public init(processorSeconds: Double, residentBytes: Int, journalBytes: Int?) {
        self.processorSeconds = processorSeconds
        self.residentBytes = residentBytes
        self.journalBytes = journalBytes
    }
}
