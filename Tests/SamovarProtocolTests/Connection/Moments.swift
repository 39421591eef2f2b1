import SamovarCore

/// A moment of a test, in seconds since its beginning.
func at(_ seconds: Double) -> Timestamp {
    Timestamp(microseconds: Int64(seconds * 1_000_000))
}

/// The timeline of the store that the tests meet first.
let home = Timeline(high: 1, low: 1)
/// The timeline of a store that came in its place.
let abroad = Timeline(high: 2, low: 2)

let counter = Schema(name: "Counter", version: 1)
