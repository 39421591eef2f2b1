import Foundation
import Samovar
import SamovarCommands
import SamovarCore
import SamovarHost

/// Effect round trips per second: `RoundTrip up --until-idle --workers 1 --seed '{"open":4096,"total":1000000}'`.
///
/// With `ROUND_TRIP_TYPES=plain` in the environment, messages and effects are plain `Codable` types; with `generated`, the same with generated
/// code.
@main
enum Main {
    @MainActor
    static func main() async {
        switch ProcessInfo.processInfo.environment["ROUND_TRIP_TYPES"] {
        case "plain": await Plain.main()
        case "generated": await Generated.main()
        default: await Packable.main()
        }
    }
}

struct Packable: SamovarApp {
    static var worker: Worker<RoundTrips<PackableMessage, PackableEffect>> {
        Worker { effect, job in .answer(number: effect.number) }
    }

    static var slots: Int { 1 }
    static var readAhead: Int { 4_096 }
}

struct Plain: SamovarApp {
    static var worker: Worker<RoundTrips<PlainMessage, PlainEffect>> {
        Worker { effect, job in .answer(number: effect.number) }
    }

    static var slots: Int { 1 }
    static var readAhead: Int { 4_096 }
}

struct Generated: SamovarApp {
    static var worker: Worker<RoundTrips<GeneratedMessage, GeneratedEffect>> {
        Worker { effect, job in .answer(number: effect.number) }
    }

    static var slots: Int { 1 }
    static var readAhead: Int { 4_096 }
}
