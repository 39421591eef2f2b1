import Samovar

/// `tally up` in one terminal, `tally monitor` in another: press the buttons there. There is no user interface in this program.
@main
struct TallyApp: SamovarApp {
    /// It orders no effects, so there is nothing to do for workers.
    static var worker: Worker<Tally> { .none }
}
