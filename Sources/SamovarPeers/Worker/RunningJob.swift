import MessagePack
public import SamovarCore
public import SamovarWire

/// The job that a slot of a worker runs: a task, and to which timeline it belongs.
///
/// An object that takes one task after the other, so that tasks are moved from the machine to their handlers and never copied: another
/// module does not know what there is to copy, and has to ask for it at run time.
///
/// `@unchecked`: what changes it is for one who has the only reference to it.
public final class RunningJob: @unchecked Sendable {
    private struct Fields {
        var task: JobTask
        var timeline: Timeline
        var hasTimeout: Bool
        var payload: ArraySlice<UInt8>?

        init(_ task: consuming JobTask, hasTimeout: Bool, in timeline: Timeline) {
            self.hasTimeout = hasTimeout
            payload = task.payload
            self.task = task
            self.timeline = timeline
        }
    }

    private let fields: Cell<Fields>

    public init(_ task: consuming JobTask, in timeline: Timeline) {
        let hasTimeout = task.timeout != nil
        fields = Cell(Fields(task, hasTimeout: hasTimeout, in: timeline))
    }

    public var task: JobTask { fields.value.task }
    public var timeline: Timeline { fields.value.timeline }
    public var lease: Lease { fields.value.task.lease }
    public var timeout: Duration? { fields.value.hasTimeout ? fields.value.task.timeout : nil }

    /// The effect in MessagePack, for one who has the only reference to this job. To ask the task for it is to copy the task first.
    public func takePayload() -> ArraySlice<UInt8> { fields.value.payload.take() ?? fields.value.task.payload }

    func begin(_ task: consuming JobTask, hasTimeout: Bool, in timeline: Timeline) {
        fields.value = Fields(task, hasTimeout: hasTimeout, in: timeline)
    }
}
