import PostgreSQLJournal
import Samovar
import SamovarLoadTest

/// The program as an executable, with a journal in its data folder or in PostgreSQL:
/// `tickets store --journal postgresql://db.example/shop`.
@main
struct TicketsApp: SamovarApp {
    static var journals: [JournalKind] { [.postgreSQL] }

    static var worker: Worker<Tickets> {
        Worker { effect, job in
            switch effect {
            case .print(let seat, _):
                try await Task.sleep(for: .milliseconds(5))
                return .printed(seat: seat)
            }
        }
    }

    static var slots: Int { 8 }
    static var loadTest: LoadTestKind? { .agents }
    static var sampleInputs: [Tickets.Input] { [.buy(by: "load")] }
}
