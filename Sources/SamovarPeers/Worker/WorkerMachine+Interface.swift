public import SamovarCore
public import SamovarWire

extension WorkerMachine {
    public struct Settings: Equatable, Sendable {
        public var connection = ConnectionSettings.worker
        /// How long running jobs may go on once the worker drains.
        public var drain = Duration.seconds(5)
        /// How long the last answers may then wait for their acknowledgement.
        public var farewell = Duration.seconds(1)
        /// Answers without acknowledgement at which the credit stops growing.
        public var unacknowledged = 16_384
        /// Bytes of them at which the credit stops growing.
        public var unacknowledgedBytes = 64 << 20
        /// The messages of one answer, as they are written in a frame. A larger one fails its job for good.
        public var answerBytes = 4 << 20
        /// A frame of several answers.
        public var frameBytes = 1 << 20
        /// Reports in a frame that tells of progress. One has less than a kilobyte.
        public var frameReports = 1_000
        /// The least time from the frames that tell of progress to the next ones.
        public var progressInterval = Duration.milliseconds(250)

        public static let standard = Settings()
    }

    public enum Action: Equatable, Sendable {
        /// Open a new socket; frames follow. What it cannot take yet is kept in order until it can, or until the next
        /// `disconnect`.
        case connect
        /// Close the socket at once; what it has not sent is dropped.
        case disconnect
        case send(Envelope)
        /// Run the handler in a slot of its own, and say `finished` when it has really ended. The timeline is that of the task: the
        /// machine may be in another by the time that it starts.
        case start(JobTask, in: Timeline)
        /// Tell the handler to stop. It keeps its slot until it is `finished`.
        case cancel(Lease)
        /// What the handler of this job has streamed is on disk up to a number: there is room for more.
        case acknowledged(StreamMark)
        /// The store does not take this worker's key: read it again, and say by `keyFound` which one it is now.
        case checkKey
        /// It is the same still, or the store has another than the worker knows: in words, at the first of such attempts. It goes on
        /// trying.
        case keyRefused(String)
        /// The store will not have this worker, for good.
        case refused(PeerError)
        /// Give the socket a moment to send what it has, and exit.
        case stop
        /// For the log.
        case note(String)
    }
}
