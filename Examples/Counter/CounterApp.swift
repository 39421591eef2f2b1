import Samovar
import SamovarLoadTest

/// The program as an executable with all of Samovar's commands: `counter up`, `counter send '{"incrementAsync":{}}'`.
@main
struct CounterApp: SamovarApp {
    /// Runs in worker processes: the only place where something takes time.
    static var worker: Worker<Counter> {
        Worker { effect, job in
            switch effect {
            case .addOne(let count):
                try await Task.sleep(for: .seconds(1))
                return .finished(count: count &+ 1)
            }
        }
    }

    // snippet: counter-load
    static var loadTest: LoadTestKind? { .agents }
    // end

    // snippet: counter-samples
    static var sampleInputs: [Counter.Input] { [.increment] }
    // end

    static func line(of view: Counter.ViewState) -> String {
        "sync \(view.sync), async \(view.async), \(view.status)"
    }
}
