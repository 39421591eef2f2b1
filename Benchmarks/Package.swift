// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
    .swiftLanguageMode(.v6),
]

/// Programs that measure. A package of its own, so that nobody who uses Samovar builds them.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "samovar", path: "..")],
    targets: [
        .target(name: "CountedAllocations"),
        .target(name: "Elementary", swiftSettings: settings),
        .executableTarget(
            name: "Turns", dependencies: ["CountedAllocations", "Elementary", .product(name: "SamovarCore", package: "samovar")],
            swiftSettings: settings),
    ]
)
