import Samovar

/// `stopwatch up` in one terminal; `stopwatch send start`, `stop` and `reset` in another.
@main
struct StopwatchApp: SamovarApp {
    /// A timer is the store's: there is nothing to do for workers.
    static var worker: Worker<Stopwatch> { .none }

    static func line(of view: Stopwatch.ViewState) -> String {
        "\(view.time) \(view.isRunning ? "running" : "stopped")"
    }

    static func screen(of view: Stopwatch.ViewState) -> String { line(of: view) }
}
