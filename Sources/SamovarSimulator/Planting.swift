#if SAMOVAR_PLANTED
import SamovarProtocol

/// Bugs in the machines, put there on purpose.
public enum Planting {
    public static var names: [String] { PlantedBug.allCases.map(\.rawValue) }

    public static func sentence(of name: String) -> String { PlantedBug(rawValue: name)?.sentence ?? "" }

    /// False if there is no such bug. From then on every machine of this process has it.
    public static func plant(_ name: String) -> Bool {
        PlantedBug.current = PlantedBug(rawValue: name)
        return PlantedBug.current != nil
    }
}
#endif
