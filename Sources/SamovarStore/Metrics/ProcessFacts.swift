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

/// What the host of a store knows of its process, its files and its machine, for `metrics`.
public struct ProcessFacts: Equatable, Sendable {
    public var process: ProcessSample
    /// Nil if the journal is in no file of this machine.
    public var journalBytes: Int?
    /// What is free for this user where the data folder is; nil if nobody can tell.
    public var freeBytes: Int?
    /// How far the machine's clock has been set forward since the host's clock took its time; negative if back.
    public var clockStep: Duration

    public init(_ process: ProcessSample, journalBytes: Int?, freeBytes: Int? = nil, clockStep: Duration = .zero) {
        self.process = process
        self.journalBytes = journalBytes
        self.freeBytes = freeBytes
        self.clockStep = clockStep
    }
}
