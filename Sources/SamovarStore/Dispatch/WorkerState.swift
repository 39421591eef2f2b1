import MessagePack
import SamovarCore

extension Dispatcher {
    /// What is known of a worker. A class, because its assignments lead to it.
    @dynamicMemberLookup
    final class WorkerState {
        struct Fields {
            var route: Route
            var slots = 0
            var queues: [Queue] = []
            /// What it can do, for effects that need it.
            var capabilities: Set<String> = []
            /// What waits in its queues and needs no more than it can do.
            var lines: [WaitingLine] = []
            /// Tasks that it is handed in this round.
            var handed = TaskBatch()
            /// Tasks that it may have been sent since its HELLO.
            var credit = 0
            /// Tasks that it was sent since its HELLO.
            var sent = 0
            /// CANCELs of jobs that it was sent since its HELLO.
            var cancels = 0
            /// Its number in `FlightRecorder`.
            var number: UInt32 = 0
            /// How many jobs it has.
            var running = 0
            /// How many of them are of sources, which have no end.
            var sources = 0
            /// The place of the newest of them.
            var newest: Int?
            /// How many of them are of each queue, if there are limits.
            var held: [Queue: Int] = [:]
            /// Jobs of a queue that it takes at once, where it said so.
            var limits: [Queue: Int] = [:]
            var heard: Timestamp
            /// It holds one suspected effect beside its sources, and gets nothing else.
            var isIsolated = false
            /// Its newest HELLO has asked for proofs.
            var takesProofs = false
            var isLeaving = false
            /// Its answers that were taken in this round.
            var acknowledged: [Lease] = []
        }

        let id: WorkerID
        private let fields: Cell<Fields>

        init(_ id: WorkerID, route: Route, heard: Timestamp) {
            self.id = id
            fields = Cell(Fields(route: route, heard: heard))
        }

        subscript<Value>(dynamicMember field: WritableKeyPath<Fields, Value>) -> Value {
            @inline(__always) _read { yield fields.value[keyPath: field] }
            @inline(__always) _modify { yield &fields.value[keyPath: field] }
        }

        func isSilent(for limit: Duration, now: Timestamp) -> Bool { now - self.heard > limit }

        /// It runs nothing that ends, and could begin something.
        var isFree: Bool { self.running == self.sources && self.running < self.slots }

        func serves(_ line: LineName) -> Bool {
            self.queues.contains(line.queue) && line.needs.isSubset(of: self.capabilities)
        }

        /// Whether a queue waits for a free slot, so that nothing must be read ahead of the others.
        func keepsSlot(now: Timestamp) -> Bool {
            self.lines.count > 1
                && self.lines.contains { line in
                    guard line.count > 0, let governor = line.governor, !governor.isPaused else { return false }
                    return governor.pause(now: now) == nil && hasRoom(for: line.queue)
                }
        }

        /// Whether what it is handed can begin. Behind sources in all its slots nothing does, whatever it reads ahead.
        var hasRoom: Bool { self.sent < self.credit && self.sources < self.slots && !self.isLeaving && !self.isIsolated }

        func hasRoom(for queue: @autoclosure () -> Queue) -> Bool {
            guard !self.limits.isEmpty, let limit = self.limits[queue()] else { return true }
            return self.held[queue(), default: 0] < limit
        }

        // Always inlined, as `release` is: for the closure that names the queue, references would be counted for each job.
        @inline(__always)
        func take(of queue: @autoclosure () -> Queue) {
            self.running += 1
            if !self.limits.isEmpty { self.held[queue(), default: 0] += 1 }
        }

        @inline(__always)
        func release(of queue: @autoclosure () -> Queue) {
            self.running -= 1
            if !self.limits.isEmpty { self.held[queue()]? -= 1 }
            if self.running == self.sources { self.isIsolated = false }
        }
    }
}
