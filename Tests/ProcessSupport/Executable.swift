import Foundation

/// The executables of this package, which lie beside the test bundle.
public enum Executable {
    public static var trapProgram: String { path("TrapProgram") }
    public static var counter: String { path("counter") }
    public static var dupes: String { path("dupes") }
    public static var chaos: String { path("ChaosProgram") }
    public static var tally: String { path("tally") }
    public static var samovar: String { path("samovar") }

    public static func path(_ name: String) -> String { "\(folder)/\(name)" }

    private static let folder: String = {
        #if canImport(Darwin)
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
        return bundle.bundleURL.deletingLastPathComponent().path
        #else
        return URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent().path
        #endif
    }()
}
