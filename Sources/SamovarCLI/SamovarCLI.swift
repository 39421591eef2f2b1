import SamovarCommands

/// The generic tool: watches and uses any running store.
@main
struct SamovarCLI {
    static func main() async {
        await SamovarTool.start()
    }
}
