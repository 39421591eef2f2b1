import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// Processes that stop and go on: F15, F17 and F18.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct PauseTests {
    private func running(_ shape: Cluster.Shape) async throws -> Cluster {
        let cluster = try await Cluster(shape, in: Scratch())
        try await eventually("the first views are seen") {
            cluster.views(of: "s0") > 2
        }
        return cluster
    }

    private func judge(_ cluster: Cluster) async throws {
        let violations = try Checker(try await cluster.finish()).violations
        #expect(violations.isEmpty, "\(violations)\n\(cluster.errors.suffix(3_000))")
    }

    private var shape: Cluster.Shape {
        var shape = Cluster.Shape()
        (shape.workers, shape.clients, shape.subscribers, shape.lanes) = (2, 2, 1, 2)
        return shape
    }

    /// Waits until so many further views are published. How fast they come is up to the machine, so patience is had for each ten.
    private func published(_ count: Int, _ cluster: Cluster) async throws {
        let views = try await cluster.counter("views")
        for step in stride(from: 10, through: count, by: 10) {
            try await eventually("\(step) of \(count) views are published") {
                try await cluster.counter("views") - views >= step
            }
        }
    }

    /// Stops a process, and proves that it was.
    private func pause(_ process: ProcessTable.Entry, for time: Duration) async throws {
        #expect(process.send(SIGSTOP))
        try await eventually("\(process) is stopped") { process.isStopped }
        try await Task.sleep(for: time)
        #expect(process.send(SIGCONT))
    }

    @Test func `A store that stops for less or more than the silence goes on with all its peers`() async throws {
        let cluster = try await running(shape)
        // The silence of this store is 3 s; in the long form there is also one beyond that of a peer without WELCOME.
        for seconds in ChaosSettings.isLong ? [1, 5, 8] : [1, 4] {
            let store = try #require(cluster.processes(.store).first)
            let seen = cluster.views(of: "s0")
            try await pause(store, for: .seconds(seconds))
            try await eventually("views come again after \(seconds) s") { cluster.views(of: "s0") > seen + 2 }
        }
        try await judge(cluster)
    }

    @Test func `A worker that stops for less than the silence keeps its jobs`() async throws {
        let cluster = try await running(shape)
        for worker in cluster.processes(.worker) { try await pause(worker, for: .seconds(1)) }
        let dead = try await cluster.counter("deadWorkers")
        #expect(dead == 0)
        try await judge(cluster)
    }

    @Test func `A worker that stops for longer than the silence loses its jobs, and its late result changes nothing`() async throws
    {
        var shape = shape
        // The worker that is left must keep up, or jobs that were taken back wait until the other one wakes.
        (shape.job, shape.lanes, shape.pause) = (.slow, 1, 100)
        let cluster = try await running(shape)
        // Whether a worker has a job when it is stopped is luck, so this is done until one had.
        for _ in 0..<10 where try cluster.answeredTwice().isEmpty {
            let worker = try #require(cluster.processes(.worker).randomElement())
            let dead = try await cluster.counter("deadWorkers")
            #expect(worker.send(SIGSTOP))
            try await eventually("the store gives the worker up") {
                try await cluster.counter("deadWorkers") > dead
            }
            // Its jobs are done by others meanwhile; then it answers, too.
            let written = try cluster.attempts().count
            try await eventually("others work") { try cluster.attempts().count > written + 20 }
            #expect(worker.send(SIGCONT))
            try await eventually("all work") { try cluster.attempts().count > written + 60 }
        }
        #expect(try !cluster.answeredTwice().isEmpty, "\(cluster.errors.split(separator: "\n").filter { !$0.contains("attempt") })")
        try await judge(cluster)
    }

    @Test func `A subscriber that stops under load costs the store nothing, and shows the head when it goes on`() async throws {
        var shape = shape
        // Jobs of every kind are ordered faster than two workers do them, and what is open takes memory, whoever listens.
        shape.job = .quick
        let cluster = try await running(shape)
        let weigh = try cluster.start(
            ["send", #"{"weigh":{"bytes":262144}}"#, "--data", cluster.data, "--endpoint", cluster.endpoint])
        #expect(try await weigh.wait() == .exited(0), "\(weigh.errors)")
        let store = try #require(cluster.processes(.store).first)
        let subscriber = try #require(cluster.processes(.subscriber).first)
        // A store takes its buffers and the database's cache with the first of them, whoever listens.
        try await published(60, cluster)
        let before = try #require(store.residentKibibytes)
        #expect(subscriber.send(SIGSTOP))
        // What is kept for a subscriber are 8 views, a quarter of a mebibyte each. So 40 are more than there is room for.
        try await published(40, cluster)
        try await Task.sleep(for: .seconds(ChaosSettings.isLong ? 60 : 8))
        // Kept for the subscriber, every 80 further views would be 20 MiB at least. What the allocator takes for its own use ends.
        var course = [try #require(store.residentKibibytes)]
        func growth() -> Int { course[course.count - 1] - course[course.count - 2] }
        repeat {
            try await published(80, cluster)
            course.append(try #require(store.residentKibibytes))
        } while course.count < 7 && growth() >= 1_024
        #expect(subscriber.isStopped)
        #expect(subscriber.send(SIGCONT))
        #expect(course[course.count - 1] - before < 8 * 1_024, "\(before) KiB, then \(course) KiB")
        #expect(growth() < 1_024, "\(before) KiB, then \(course) KiB")
        print("a stopped subscriber: store \(before) KiB, then \(course) KiB after 80 further views of 256 KiB each")
        try await judge(cluster)
    }
}
