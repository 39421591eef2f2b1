import SamovarWire

/// Operators who have asked, and are not answered yet.
struct WaitingOperators {
    /// Whose answers wait for a turn on disk.
    var answers: [Route: (identity: Identity, floor: Int)] = [:]
    /// Who waits for the host to read the keys again.
    var keys: [(id: Int, route: Route, identity: Identity)] = []
    /// Who waits for what the host knows of its process.
    var metrics: [(id: Int, route: Route, identity: Identity)] = []
}
