import SamovarCommands

extension LoadCommand {
    /// What a reader must know to run it again.
    func shownSettings(isOwn: Bool) -> [(name: String, value: String)] {
        var shown: [(name: String, value: String)] = [
            saturate
                ? ("pace", "saturate, \(saturatingWindow) unanswered inputs each") : ("rate", "\(plain(rate ?? 1_000)) inputs/s"),
            ("duration", "\(duration)"), ("clients", "\(clients)"), ("processes", "\(processes)"),
        ]
        if agents > 0 { shown.append(("agents elsewhere", "\(agents)")) }
        shown.append(("subscribers", "\(subscribers ?? processes + agents)"))
        if isOwn {
            shown.append(("workers", "\(workerCount)" + (slots.map { ", \($0) slots each" } ?? "")))
        } else {
            shown.append(("store", options.store.endpoint ?? options.store.data ?? "of the settings"))
        }
        if let kill { shown.append(("kill", "\(kill), one every \(killInterval)")) }
        if let seed { shown.append(("seed", seed)) }
        if !setup.isEmpty { shown.append(("setup", setup.joined(separator: "  "))) }
        shown.append(
            (input.count == 1 ? "input" : "inputs", input.isEmpty ? "the program's samples" : input.joined(separator: "  ")))
        return shown
    }

    private func plain(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }
}
