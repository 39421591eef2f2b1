// swift-tools-version: 6.2
import PackageDescription

// A package of its own: async-http-client brings all of swift-nio, which nobody who depends on Samovar should have to download.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
    .swiftLanguageMode(.v6),
]

let samovar: Target.Dependency = .product(name: "Samovar", package: "samovar")
let http: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")

let package = Package(
    name: "uptime",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "uptime", targets: ["UptimeExample"])],
    dependencies: [
        .package(name: "samovar", path: "../.."),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        // The server of the tests; async-http-client needs it anyway.
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    ],
    targets: [
        .executableTarget(
            name: "UptimeExample", dependencies: [samovar, http], path: "Sources/Uptime", swiftSettings: settings),
        // A link to the folder of Samovar's own tests.
        .target(name: "ProcessSupport", path: "Tests/ProcessSupport", swiftSettings: settings),
        .testTarget(
            name: "UptimeTests",
            dependencies: [
                "UptimeExample", "ProcessSupport", samovar, .product(name: "SamovarTesting", package: "samovar"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings),
    ]
)
