import SamovarCore
import SamovarStore
import SamovarWire

/// One client of a store in a test: with a key of its own, or the first, which has none.
struct ClientSeat {
    /// From 1.
    let number: Int
    let name: KeyName?
    /// The number of its newest input.
    var sequence = 0

    var route: Route {
        Route(
            listener: .front, id: [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)], isRemote: name != nil
        )
    }
    var session: SessionID { SessionID(high: 0, low: UInt64(number)) }

    var key: Key? {
        name.map { Key($0, Fingerprint(high: 0, low: UInt64(number)), roles: [.client]) }
    }
}
