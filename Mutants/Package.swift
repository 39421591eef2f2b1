// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
    .swiftLanguageMode(.v6),
]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

/// Breaks the machines on purpose and asks who notices; see docs/simulator.md. A package of its own, so that nobody else builds it.
let package = Package(
    name: "mutants",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ],
    targets: [
        // A copy of the sources, its build, and runs of what was built.
        .target(name: "Instrumentation", swiftSettings: settings),
        .executableTarget(name: "planted", dependencies: ["Instrumentation", argumentParser], swiftSettings: settings),
    ]
)
