// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
    .swiftLanguageMode(.v6),
]

/// SwiftPM does not rebuild through an umbrella module, so its users name the parts too.
let samovar: [Target.Dependency] = ["Samovar", "MessagePack"].map { .product(name: $0, package: "samovar") }

/// Programs that measure. A package of its own, so that nobody who uses Samovar builds them.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "samovar", path: ".."),
        // Without its own count of allocations, which needs a library that is preloaded.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .target(name: "CountedAllocations"),
        .target(name: "Elementary", swiftSettings: settings),
        .executableTarget(
            name: "Turns", dependencies: ["CountedAllocations", "Elementary", .product(name: "SamovarCore", package: "samovar")],
            swiftSettings: settings),
        .executableTarget(
            name: "Codec", dependencies: ["CountedAllocations", .product(name: "MessagePack", package: "samovar")],
            swiftSettings: settings),
        .executableTarget(name: "RoundTrip", dependencies: samovar, swiftSettings: settings),
        .executableTarget(name: "Machines", dependencies: samovar + ["CountedAllocations"], swiftSettings: settings),
        // With a journal in PostgreSQL: these need libpq.
        .executableTarget(
            name: "Clicks",
            dependencies: samovar + ["PostgreSQLJournal", "SamovarLoadTest"].map { .product(name: $0, package: "samovar") },
            swiftSettings: settings),
        .executableTarget(
            name: "Appends", dependencies: [.product(name: "PostgreSQLJournal", package: "samovar")], swiftSettings: settings),
        .target(name: "BareZeroMQ", linkerSettings: [.linkedLibrary("zmq")]),
        // Runs under `swift package benchmark`, which takes targets below a folder named Benchmarks: `make benchmarks`.
        .executableTarget(
            name: "Operations",
            dependencies: samovar + [
                "BareZeroMQ", "CountedAllocations",
                .product(name: "Benchmark", package: "benchmark"),
                .product(name: "SamovarCore", package: "samovar"),
                .product(name: "SQLiteJournal", package: "samovar"),
                .product(name: "ZeroMQ", package: "samovar"),
            ],
            path: "Operations", swiftSettings: settings, plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    ]
)
