import SamovarCore
import SamovarWorker
import Synchronization

/// A program with an effect for each thing that a handler may do with its job.
enum Courier: OpenProgram {
    struct State: Portable {}
    enum Message: Portable {
        case delivered(String)
        case passed(mile: Int)
        case seen(Sight)
    }
    enum Effect: Portable {
        case deliver(String)
        /// Streams each mile up to this one, and the mile as the checkpoint.
        case ride(miles: Int)
        case look
        case fail(permanent: Bool)
        case unknown
        case wait

        var parcel: String? { if case .deliver(let parcel) = self { parcel } else { nil } }
        var miles: Int? { if case .ride(let miles) = self { miles } else { nil } }
    }
    /// What a handler can see of its job.
    struct Sight: Portable {
        var key = ""
        var attempt = 1
        var queue = ""
        var hasDeadline = false
        var resume: Int?
        var checkpoint: String?
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Courier> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Courier> { .none }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }

    struct NoLuck: Error {}

    /// What the worker needs: it notes what is done with it.
    final class Van: Sendable {
        let log = Mutex<[String]>([])
        let onDelivery: @Sendable (String) -> Void

        init(onDelivery: @escaping @Sendable (String) -> Void = { _ in }) {
            self.onDelivery = onDelivery
        }

        func note(_ text: String) { log.withLock { $0.append(text) } }
        var notes: [String] { log.withLock { $0 } }
    }

    static func worker(_ van: Van = Van()) -> Worker<Courier> {
        Worker.handlers {
            van.note("made")
            return van
        } tearDown: {
            $0.note("torn down")
        } _: {
            group("express") { on(\.parcel) { parcel, job in .delivered("\(parcel) in a hurry") } }
            on(\.parcel) { parcel, van, job in
                van.note("delivers \(parcel) for \(job.key)")
                try job.send(.delivered("half of \(parcel)"))
                van.onDelivery(parcel)
                try job.checkCancelled()
                return .delivered(parcel)
            }
            on(\.miles) { miles, job in
                var mile = try job.resume?.checkpoint(as: Int.self) ?? 0
                while mile < miles {
                    mile += 1
                    try await job.stream(.passed(mile: mile), checkpoint: mile)
                    job.progress(Double(mile) / Double(miles), "mile \(mile)")
                }
                return nil
            }
            take(.look) { job in
                let resume = job.resume
                return .seen(
                    Sight(
                        key: job.key, attempt: job.attempt, queue: job.queue.name, hasDeadline: job.deadline != nil,
                        resume: resume?.index, checkpoint: try resume?.checkpoint()))
            }
            take(.fail(permanent: true)) { _ in throw Permanent("no such address") }
            take(.fail(permanent: false)) { job in
                try job.send(.delivered("half"))
                throw NoLuck()
            }
            take(.wait) { _ in
                try await Task.sleep(for: .seconds(3_600))
                return nil
            }
        }
    }
}
