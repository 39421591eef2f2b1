package import SamovarCore

/// A moment of a test, in seconds since its beginning.
package func at(_ seconds: Double) -> Timestamp {
    Timestamp(microseconds: Int64(seconds * 1_000_000))
}

/// The timeline of the store that the tests meet first.
package let home = Timeline(high: 1, low: 1)
/// The timeline of a store that came in its place.
package let abroad = Timeline(high: 2, low: 2)

package let counter = Schema(name: "Counter", version: 1)
