package import SamovarCore
package import SamovarPeers
package import SamovarWire

/// Whom the slots of a worker tell what becomes of their jobs: the coordinator of a worker process, or a test.
package protocol SlotCoordinator: AnyObject, Sendable {
    /// A task of a slot begins, whose first job may have been told to stop before.
    func began(_ slot: Int, _ interrupt: () -> Void)

    /// What the running job of a slot says before its end.
    func take(_ event: JobEvent, from slot: Int)

    /// Tells a job to stop, if it has not ended.
    ///
    /// - Parameter interrupt: cancels the slot's task; to be called before the job can end, or it would reach the next one.
    func cancel(_ lease: Lease, in slot: Int, _ interrupt: () -> Void)

    /// The handler of a job has ended. The slot's next job begins in its place, if there is one.
    ///
    /// - Parameter job: that has ended, and to which nobody else refers.
    func finished(_ lease: Lease, _ answer: JobResult.Answer, in slot: Int, next job: RunningJob) -> JobEnd

    /// The same for an answer of one message.
    func finished(_ lease: Lease, message: UnsafeRawBufferPointer, in slot: Int, next job: RunningJob) -> JobEnd
}

/// What comes after a job.
package struct JobEnd {
    /// The slot has another job; else it is free.
    package let hasNext: Bool
    /// The job that has ended was told to stop.
    package let isInterrupted: Bool

    package init(hasNext: Bool, isInterrupted: Bool) {
        self.hasNext = hasNext
        self.isInterrupted = isInterrupted
    }
}
