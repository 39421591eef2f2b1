/// The source of the executable: the worker, and with it all commands.
extension PackageTemplate {
    var app: String {
        choices.lines(
            of: """
                    import Samovar

                    /// The program as an executable: `\(name.package) up`, `\(name.package) --help`.
                    @main
                    struct \(name.app): SamovarApp {
                D       /// There are no effects, so there is nothing to do for workers.
                D       static var worker: Worker<\(name.type)> { .none }
                d       /// Runs in worker processes: the only place where something takes time, and the only one that touches the world.
                d       static var worker: Worker<\(name.type)> {
                d           Worker { effect, job in
                d               switch effect {
                d               case .double(let count):
                d                   try await Task.sleep(for: .seconds(1))
                d                   return .doubled(count: count &* 2)
                d               }
                d           }
                d       }
                    }

                """)
    }
}
