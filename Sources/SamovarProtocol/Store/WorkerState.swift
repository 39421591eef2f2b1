import SamovarCore

extension Dispatcher {
    /// What is known of a worker. A class, because each job changes it twice, and its assignment leads to it. Part of one value that one
    /// thread has, so nothing overlaps that would have to be checked each time.
    final class WorkerState {
        let id: WorkerID
        @exclusivity(unchecked) var route: Route
        @exclusivity(unchecked) var slots = 0
        @exclusivity(unchecked) var queues: [Queue] = []
        /// What waits in them.
        @exclusivity(unchecked) var lines: [PriorityQueue] = []
        /// Tasks that it is handed in this round.
        @exclusivity(unchecked) var handed = TaskBatch()
        /// Tasks that it may have been sent since its HELLO.
        @exclusivity(unchecked) var credit = 0
        /// Tasks that it was sent since its HELLO.
        @exclusivity(unchecked) var sent = 0
        /// How many jobs it has.
        @exclusivity(unchecked) var running = 0
        /// The place of the newest of them.
        @exclusivity(unchecked) var newest: Int?
        /// How many of them are of each queue, if there are limits.
        @exclusivity(unchecked) var held: [Queue: Int] = [:]
        /// Jobs of a queue that it takes at once, where it said so.
        @exclusivity(unchecked) var limits: [Queue: Int] = [:]
        @exclusivity(unchecked) var heard: Timestamp
        /// It holds one suspected effect, and gets nothing else.
        @exclusivity(unchecked) var isIsolated = false
        /// Its newest HELLO has asked for proofs.
        @exclusivity(unchecked) var takesProofs = false
        /// It is about to leave.
        @exclusivity(unchecked) var isLeaving = false
        /// Its answers that were taken in this round.
        @exclusivity(unchecked) var acknowledged: [Lease] = []

        init(_ id: WorkerID, route: Route, heard: Timestamp) {
            self.id = id
            self.route = route
            self.heard = heard
        }

        func isSilent(for limit: Duration, now: Timestamp) -> Bool { now - heard > limit }

        func hasRoom(for queue: @autoclosure () -> Queue) -> Bool {
            guard !limits.isEmpty, let limit = limits[queue()] else { return true }
            return held[queue(), default: 0] < limit
        }

        func take(of queue: @autoclosure () -> Queue) {
            running += 1
            if !limits.isEmpty { held[queue(), default: 0] += 1 }
        }

        func release(of queue: @autoclosure () -> Queue) {
            running -= 1
            if !limits.isEmpty { held[queue(), default: 1] -= 1 }
            if running == 0 { isIsolated = false }
        }
    }
}
