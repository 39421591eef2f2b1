/// What a process takes of its machine.
public struct ProcessSample: Codable, Equatable, Sendable {
    /// Seconds of a processor since the process began, in user and system mode.
    public var processorSeconds: Double
    public var residentBytes: Int64

    public init(processorSeconds: Double, residentBytes: Int64) {
        self.processorSeconds = processorSeconds
        self.residentBytes = residentBytes
    }
}

/// What the host of a store knows of its process and its files, for `metrics`.
public struct ProcessFacts: Equatable, Sendable {
    public var process: ProcessSample
    /// Nil if the journal is in no file of this machine.
    public var journalBytes: Int?
    /// What is free for this user where the data folder is; nil if nobody can tell.
    public var freeBytes: Int?

    public init(_ process: ProcessSample, journalBytes: Int?, freeBytes: Int? = nil) {
        self.process = process
        self.journalBytes = journalBytes
        self.freeBytes = freeBytes
    }
}
