import Foundation
import Logging
import Samovar
import SamovarLoadTest

/// Where this worker process writes what happened to its environment.
struct Diary: Sendable {
    let file: String

    /// Beside the sockets' folder, which each test has its own of.
    static var ofThisTest: Diary {
        Diary(file: (ProcessInfo.processInfo.environment["SAMOVAR_RUNTIME_DIR"] ?? "/tmp") + "-diary")
    }

    func write(_ line: String) {
        let line = Data((line + "\n").utf8)
        guard let handle = FileHandle(forWritingAtPath: file) else {
            _ = FileManager.default.createFile(atPath: file, contents: line)
            return
        }
        handle.seekToEndOfFile()
        handle.write(line)
    }
}

@main
struct ContractApp: SamovarApp {
    static var loadTest: LoadTestKind? { .agents }
    static let slots = 4

    static var worker: Worker<Contract> {
        .handlers {
            Diary.ofThisTest
        } tearDown: { diary in
            diary.write("torn down \(getpid())")
        } _: {
            on({ if case .load = $0 { true } else { nil } }) { _, job in
                try await job.stream(.turnedTo(phase: "progress"))
                return .turnedTo(phase: "loaded")
            }
            on({ if case .add(let milliseconds) = $0 { milliseconds } else { nil } }) { (milliseconds: Int, job) in
                try await Task.sleep(for: .milliseconds(milliseconds))
                return .increment(by: 1)
            }
            on({ if case .note(let text) = $0 { text } else { nil } }) { (text: String, job) in
                .noted("\(text) \(job.key)")
            }
            on({ if case .look(let endpoint) = $0 { endpoint } else { nil } }) { (endpoint: String, job) in
                try await look(endpoint, job)
            }
            on({ if case .stream(let count, let pause) = $0 { (count, pause) } else { nil } }) { (order: (Int, Int), diary, job) in
                try await stream(count: order.0, milliseconds: order.1, diary, job)
            }
            on({ if case .hang(let file) = $0 { file } else { nil } }) { (file: String, job) in
                try await hang(file, job)
            }
            for name in ["search", "mail"] {
                group(Queue(name)) {
                    on({ if case .publish(let text) = $0 { text } else { nil } }) { (text: String, job) in
                        .noted("\(name) has \(text)")
                    }
                }
            }
            listen(
                { if case .listen(let endpoint) = $0 { try? StoreAccess(endpoint) } else { nil } },
                to: Contract.self, logger: Logger(label: "listen")
            ) { .heard($0.output) }
        }
        .serving(.default)
        .slots(1, queue: "mail")
    }

    /// Reports the turn that ordered this job, and that of the view that everybody can see.
    private static func look(_ endpoint: String, _ job: Job<Contract>) async throws -> Contract.Message? {
        let connector = try Connector(Contract.self, at: try StoreAccess(endpoint), logger: Logger(label: "look"))
        async let running: Void = connector.run()
        let view = try await connector.view()
        connector.close()
        try await running
        let ordered = job.key.split(separator: "/").dropFirst().first.map(String.init) ?? "?"
        return .noted("\(ordered) \(view?.turn ?? -1)")
    }

    private static func stream(count: Int, milliseconds: Int, _ diary: Diary, _ job: Job<Contract>) async throws
        -> Contract.Message?
    {
        let done = try job.resume?.checkpoint(as: Int.self) ?? 0
        diary.write("streams from \(done) in attempt \(job.attempt)")
        for number in (done + 1)..<(count + 1) {
            job.progress(Double(number) / Double(count), "\(number) of \(count)")
            try await job.stream(.streamed(number), checkpoint: number)
            if milliseconds > 0 { try await Task.sleep(for: .milliseconds(milliseconds)) }
        }
        return .turnedTo(phase: "streamed")
    }

    /// Does nothing until nobody wants it any more.
    private static func hang(_ file: String, _ job: Job<Contract>) async throws -> Contract.Message? {
        Diary(file: file).write("started")
        do {
            while true {
                try job.checkCancelled()
                try await Task.sleep(for: .seconds(60))
            }
        } catch {
            Diary(file: file).write("cancelled")
            throw error
        }
    }
}
