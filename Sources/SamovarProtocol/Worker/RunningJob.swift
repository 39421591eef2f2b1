public import SamovarCore

/// The job that a slot of a worker runs: a task, and to which timeline it belongs.
///
/// An object that takes one task after the other, so that tasks are moved from the machine to their handlers and never copied: another
/// module does not know what there is to copy, and has to ask for it at run time.
///
/// `@unchecked`: what changes it is for one who has the only reference to it.
public final class RunningJob: @unchecked Sendable {
    // Nobody reads them while they are written.
    @exclusivity(unchecked) public private(set) var task: JobTask
    @exclusivity(unchecked) public private(set) var timeline: Timeline
    @exclusivity(unchecked) private var hasTimeout: Bool
    @exclusivity(unchecked) private var payload: ArraySlice<UInt8>?

    public init(_ task: consuming JobTask, in timeline: Timeline) {
        hasTimeout = task.timeout != nil
        payload = task.payload
        self.task = task
        self.timeline = timeline
    }

    public var lease: Lease { task.lease }
    public var timeout: Duration? { hasTimeout ? task.timeout : nil }

    /// The effect in MessagePack, for one who has the only reference to this job. To ask the task for it is to copy the task first.
    public func takePayload() -> ArraySlice<UInt8> { payload.take() ?? task.payload }

    func begin(_ task: consuming JobTask, hasTimeout: Bool, in timeline: Timeline) {
        self.hasTimeout = hasTimeout
        payload = task.payload
        self.task = task
        self.timeline = timeline
    }
}
