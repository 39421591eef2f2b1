import PostgreSQLJournal
import Samovar
import SamovarLoadTest

@main
struct ClicksApp: SamovarApp {
    static var journals: [JournalKind] { [.postgreSQL] }
    static var loadTest: LoadTestKind? { .agents }
    static var worker: Worker<Clicks> { .none }
    static var sampleInputs: [Clicks.Click] { [Clicks.Click(button: 7)] }
}
