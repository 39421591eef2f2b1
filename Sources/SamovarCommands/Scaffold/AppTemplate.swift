/// The source of the executable: the worker, and with it all commands.
struct AppTemplate {
    let name: ScaffoldName
    let choices: ScaffoldChoices

    var text: String {
        code(
            "import Samovar",
            "",
            "/// The program as an executable: `\(name.package) up`, `\(name.package) --help`.",
            "@main",
            "struct \(name.app): SamovarApp {",
            choices.distributed ? worker : none,
            "",
            "    /// What `\(name.package) load` sends.",
            "    static var sampleInputs: [\(name.type).Input] { [.add(by: 1)] }",
            "}",
            "")
    }

    private var worker: String {
        code(
            "    /// Runs in worker processes: the only place where something takes time, and the only one that touches the world.",
            "    static var worker: Worker<\(name.type)> {",
            "        Worker { effect, job in",
            "            switch effect {",
            "            case .double(let count):",
            "                try await Task.sleep(for: .seconds(1))",
            "                return .doubled(count: count &* 2)",
            "            }",
            "        }",
            "    }")
    }

    private var none: String {
        code(
            "    /// There are no effects, so there is nothing to do for workers.",
            "    static var worker: Worker<\(name.type)> { .none }")
    }
}
