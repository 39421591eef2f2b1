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
let syntax: Target.Dependency = .product(name: "SwiftSyntax", package: "swift-syntax")

/// Breaks the machines on purpose and asks who notices; see docs/mutants.md. A package of its own, so that nobody else builds swift-syntax.
let package = Package(
    name: "mutants",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    ],
    targets: [
        // A copy of the sources, its build, and runs of what was built.
        .target(name: "Instrumentation", swiftSettings: settings),
        // Where the machines can be changed, and sources in which the changes wait for their number.
        .target(
            name: "Mutator",
            dependencies: [
                syntax,
                .product(name: "SwiftOperators", package: "swift-syntax"),
                .product(name: "SwiftParser", package: "swift-syntax"),
            ],
            swiftSettings: settings),
        .executableTarget(name: "mutants", dependencies: ["Instrumentation", "Mutator", argumentParser], swiftSettings: settings),
        // Without swift-syntax, which takes two minutes to build.
        .executableTarget(name: "planted", dependencies: ["Instrumentation", argumentParser], swiftSettings: settings),
        .testTarget(name: "MutatorTests", dependencies: ["Mutator"], swiftSettings: settings),
    ]
)
