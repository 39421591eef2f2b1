import PostgreSQLJournal
import Samovar

@main
struct ClicksApp: SamovarApp {
    static var journals: [JournalKind] { [.postgreSQL] }
    static var worker: Worker<Clicks> { .none }
    static var sampleInputs: [Clicks.Click] { [Clicks.Click(button: 7)] }
}
