// swift-tools-version: 6.2
import PackageDescription

/// Warnings are no errors here, for a change may leave a value unused.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .swiftLanguageMode(.v6),
    .unsafeFlags(["-suppress-warnings"]),
]

/// Tests are built without optimisation, on which the compiler takes minutes or crashes. What they test has it.
let tested = settings + [.unsafeFlags(["-Onone"])]

let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")

/// The machines, with changes that wait for their name in the environment, and what is asked to notice them.
let package = Package(
    name: "samovar",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "https://github.com/apple/swift-collections", from: "1.6.0")],
    targets: [
        .target(name: "SamovarCore", swiftSettings: settings),
        .target(name: "MessagePack", swiftSettings: settings),
        // Which change is asked for.
        .target(name: "Chosen", swiftSettings: settings),
        .target(name: "SamovarWire", dependencies: ["SamovarCore", "MessagePack", "Chosen"], swiftSettings: settings),
        .target(
            name: "SamovarPeers", dependencies: ["SamovarCore", "MessagePack", "SamovarWire", "Chosen", deque, heap],
            swiftSettings: settings),
        .target(
            name: "SamovarStore", dependencies: ["SamovarCore", "MessagePack", "SamovarWire", "Chosen", deque, heap],
            swiftSettings: settings),
        .target(name: "Journal", dependencies: ["SamovarCore", "Chosen"], swiftSettings: settings),
        .target(
            name: "SamovarSimulator",
            dependencies: [
                "SamovarCore", "MessagePack", "SamovarWire", "SamovarPeers", "SamovarStore", "Journal", "Chosen", deque, heap,
            ],
            swiftSettings: settings),
        .executableTarget(name: "Simulate", dependencies: ["SamovarSimulator"], swiftSettings: settings),
        .target(
            name: "MachineSupport", dependencies: ["SamovarCore", "SamovarWire", "MessagePack"], path: "Tests/MachineSupport",
            swiftSettings: tested),
    ]
        + ["SamovarWire", "SamovarPeers", "SamovarStore"].map { module in
            .testTarget(
                name: "\(module)Tests",
                dependencies: ["MachineSupport", "SamovarCore", "SamovarWire", "SamovarPeers", "SamovarStore", "MessagePack"],
                swiftSettings: tested)
        }
)
