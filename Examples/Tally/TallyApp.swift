import Samovar
import SamovarLoadTest
import SamovarWeb

/// `tally up` in one terminal, `tally monitor` in another: press the buttons there. There is no user interface in this program.
@main
struct TallyApp: SamovarApp {
    // snippet: tally-page
    static var page: PageKind? { .web }
    // end
    /// It orders no effects, so there is nothing to do for workers.
    static var worker: Worker<Tally> { .none }

    static var loadTest: LoadTestKind? { .agents }

    // snippet: tally-setup
    static var setupInputs: [Tally.Input] { [.add(name: "load")] }
    static var sampleInputs: [Tally.Input] { [.count(name: "load", by: 1)] }
    // end
}
