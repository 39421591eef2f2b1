// swift-tools-version: 6.2
import Foundation
import PackageDescription

var settings: [SwiftSetting] = [
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
    .swiftLanguageMode(.v6),
]

/// libFuzzer of the toolchain: set by `make fuzz`, which has everything instrumented and builds one more program.
let fuzzer = Context.environment["SAMOVAR_FUZZER"] ?? ""
if !fuzzer.isEmpty { settings.append(.unsafeFlags(["-sanitize=fuzzer"])) }

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let signals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let histogram: Target.Dependency = .product(name: "Histogram", package: "hdrhistogram-swift")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")
let flyingFox: Target.Dependency = .product(name: "FlyingFox", package: "FlyingFox")
let flyingSocks: Target.Dependency = .product(name: "FlyingSocks", package: "FlyingFox")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")

/// What `import Samovar` re-exports. SwiftPM does not rebuild through an umbrella module, so its users name the parts too.
let samovar: [Target.Dependency] = [
    "Samovar", "SamovarCore", "SamovarText", "JournalChain", "SamovarWorker", "SamovarHost", "SamovarCommands",
]

let package = Package(
    name: "samovar",
    platforms: [.macOS(.v15)],
    products: [
        .library(
            name: "Samovar",
            targets: [
                "Samovar", "SamovarCore", "MessagePack", "SamovarWire", "SamovarPeers", "SamovarStore", "SamovarText",
                "JournalChain", "SamovarWorker",
                "SamovarHost", "SamovarCommands",
            ]),
        .library(name: "MessagePack", targets: ["MessagePack"]),
        .library(name: "SamovarCore", targets: ["SamovarCore"]),
        .library(name: "SamovarTesting", targets: ["SamovarTesting"]),
        // The adapters, for those who measure them alone.
        .library(name: "SQLiteJournal", targets: ["Journal", "JournalChain", "SQLiteJournal"]),
        .library(name: "PostgreSQLJournal", targets: ["Journal", "JournalChain", "PostgreSQL", "PostgreSQLJournal"]),
        .library(name: "ZeroMQ", targets: ["ZeroMQ"]),
        // The page, for programs that want it.
        .library(name: "SamovarWeb", targets: ["SamovarWeb"]),
        // Load tests, likewise.
        .library(name: "SamovarLoadTest", targets: ["SamovarLoadTest"]),
        .executable(name: "samovar", targets: ["SamovarCLI"]),
        .executable(name: "simulator", targets: ["SimulatorCLI"]),
        .executable(name: "counter", targets: ["CounterExample"]),
        .executable(name: "dupes", targets: ["DupesExample"]),
        .executable(name: "tally", targets: ["TallyExample"]),
        .executable(name: "stopwatch", targets: ["StopwatchExample"]),
        .executable(name: "buttons", targets: ["ButtonsExample"]),
        .executable(name: "twice", targets: ["TwiceExample"]),
        .executable(name: "quotes", targets: ["QuotesExample"]),
        .executable(name: "webhooks", targets: ["WebhooksExample"]),
        .executable(name: "conform", targets: ["ConformExample"]),
        .executable(name: "tickets", targets: ["TicketsExample"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ],
    targets: [
        // Pure: no clock, no socket, no file.
        .target(name: "SamovarCore", swiftSettings: settings),
        .target(name: "MessagePack", swiftSettings: settings),
        // Frames, records and identities.
        .target(name: "SamovarWire", dependencies: ["SamovarCore", "MessagePack"], swiftSettings: settings),
        // The machines of clients, subscribers and workers.
        .target(
            name: "SamovarPeers", dependencies: ["SamovarCore", "MessagePack", "SamovarWire", deque], swiftSettings: settings),
        // The machines of the store, and what it makes of its journal.
        .target(
            name: "SamovarStore", dependencies: ["SamovarCore", "MessagePack", "SamovarWire", deque, heap], swiftSettings: settings),

        .target(name: "SamovarTerminal", dependencies: ["SamovarCore", "MessagePack"], swiftSettings: settings),

        // What is said of values and turns: tables, JSON, explanations, source of Swift.
        .target(
            name: "SamovarText", dependencies: ["SamovarCore", "MessagePack", "SamovarWire", "SamovarStore", "SamovarTerminal"],
            swiftSettings: settings),

        // Adapters: each hides one library.
        .target(name: "CrashPoints", swiftSettings: settings),
        .systemLibrary(
            name: "CZeroMQ", pkgConfig: "libzmq", providers: [.apt(["libzmq3-dev"]), .brew(["zeromq"])]),
        .target(name: "ZeroMQ", dependencies: ["CZeroMQ"], swiftSettings: settings),
        .target(name: "Journal", swiftSettings: settings),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        // On Linux alone: macOS has CryptoKit.
        .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "SHA2", dependencies: ["CCrypto"], swiftSettings: settings),
        // The chain of digests that all stored batches are in.
        .target(name: "JournalChain", dependencies: ["Journal", "SHA2", "SamovarCore"], swiftSettings: settings),
        .target(
            name: "SQLiteJournal",
            dependencies: ["CLinux", "CSQLite", "CrashPoints", "Journal", "JournalChain", "SamovarCore", grdb, sqlite],
            swiftSettings: settings),

        // Only for programs that name it: who keeps a journal in a file needs no libpq.
        .systemLibrary(name: "CPostgreSQL", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(name: "PostgreSQL", dependencies: ["CPostgreSQL"], swiftSettings: settings),
        .target(
            name: "PostgreSQLJournal", dependencies: ["Journal", "JournalChain", "PostgreSQL", "SamovarCore"],
            swiftSettings: settings),

        // What a handler sees, and the slot that it runs in: no socket.
        .target(
            name: "SamovarWorker", dependencies: ["SamovarCore", "MessagePack", "SamovarWire", "SamovarPeers", "CrashPoints"],
            swiftSettings: settings),

        // Hosts: the only place where actions become I/O.
        .target(
            name: "SamovarHost",
            dependencies: [
                "SamovarCore", "MessagePack", "SamovarWire", "SamovarPeers", "SamovarStore", "SamovarWorker", "CrashPoints",
                "ZeroMQ", "Journal",
                "JournalChain",
                "SQLiteJournal", "CLinux", "SHA2", deque, lifecycle, logging,
            ],
            swiftSettings: settings),

        // Face.
        .target(
            name: "SamovarCommands",
            dependencies: [
                "SamovarCore", "MessagePack", "SamovarWire", "SamovarStore", "SamovarTerminal", "SamovarText", "JournalChain",
                "SamovarWorker",
                "SamovarHost", "ZeroMQ", argumentParser, configuration, lifecycle, logging, signals, subprocess, yams,
            ],
            swiftSettings: settings),
        .target(
            name: "Samovar",
            dependencies: [
                "SamovarCore", "MessagePack", "SamovarStore", "SamovarText", "JournalChain", "SamovarWorker", "SamovarHost",
                "SamovarCommands",
            ],
            swiftSettings: settings),
        // Only for programs that name it: who has no page builds no server.
        .target(
            name: "SamovarWeb",
            dependencies: [
                "SamovarCore", "MessagePack", "SamovarWire", "SamovarStore", "SamovarTerminal", "SamovarText", "SamovarHost",
                "SamovarCommands",
                flyingFox,
                flyingSocks, logging, subprocess,
            ],
            resources: [
                .embedInCode("Page/index.html"), .embedInCode("Page/page.css"), .embedInCode("Page/page.js"),
                .embedInCode("Page/past.js"), .embedInCode("Page/overview.js"), .embedInCode("Page/effect.js"),
                .embedInCode("Page/charts.css"), .embedInCode("Page/icon.svg"),
            ],
            swiftSettings: settings),
        // Only for programs that name it: who runs no load tests builds neither agents nor judge.
        .target(
            name: "SamovarLoad",
            dependencies: ["SamovarCore", "MessagePack", "SamovarWire", "SamovarPeers", "SamovarStore", deque],
            swiftSettings: settings),
        .target(
            name: "SamovarLoadTest",
            dependencies: [
                "SamovarCore", "MessagePack", "SamovarWire", "SamovarPeers", "SamovarStore", "SamovarLoad", "SamovarText",
                "SamovarHost", "SamovarCommands",
                "Journal", "ZeroMQ", argumentParser, histogram, logging, signals, subprocess,
            ],
            swiftSettings: settings),
        // What only the tool has.
        .target(name: "NewCommand", dependencies: ["SamovarCommands", "SamovarText", argumentParser], swiftSettings: settings),
        .executableTarget(
            name: "SamovarCLI",
            dependencies: [
                "NewCommand", "SamovarCommands", "SamovarWeb", "SamovarLoadTest", "SimulateCommand", "ConformCommand",
                argumentParser,
            ],
            swiftSettings: settings),

        // Proof. The simulator runs the production machines; it never sees a host or a socket.
        .target(
            name: "SamovarSimulator",
            dependencies: ["SamovarCore", "MessagePack", "SamovarWire", "SamovarPeers", "SamovarStore", "Journal", deque, heap],
            swiftSettings: settings),
        // A store that is hostile and faulty, for peers in any language. It knows docs/protocol.md, and neither our frames nor our machines.
        .target(name: "SamovarConformance", dependencies: ["SamovarCore", "MessagePack"], swiftSettings: settings),
        .target(
            name: "ConformCommand",
            dependencies: [
                "SamovarConformance", "SamovarCommands", "SamovarText", "SamovarCore", "SamovarHost", "MessagePack", "ZeroMQ",
                argumentParser,
            ],
            swiftSettings: settings),
        .target(name: "SimulateCommand", dependencies: ["SamovarSimulator", argumentParser], swiftSettings: settings),
        .executableTarget(name: "SimulatorCLI", dependencies: ["SimulateCommand", argumentParser], swiftSettings: settings),
        .target(
            name: "SamovarTesting",
            dependencies: [
                "SamovarCore", "MessagePack", "SamovarWire", "SamovarPeers", "SamovarStore", "SamovarWorker", "Journal",
            ],
            swiftSettings: settings),

        .executableTarget(
            name: "CounterExample", dependencies: samovar + ["SamovarLoadTest"], path: "Examples/Counter", swiftSettings: settings),
        .executableTarget(
            name: "DupesExample", dependencies: samovar + ["SHA2"], path: "Examples/Dupes", swiftSettings: settings),
        .executableTarget(
            name: "TallyExample", dependencies: samovar + ["SamovarWeb", "SamovarLoadTest"], path: "Examples/Tally",
            swiftSettings: settings),
        .executableTarget(
            name: "StopwatchExample", dependencies: samovar, path: "Examples/Stopwatch", swiftSettings: settings),
        .executableTarget(
            name: "ButtonsExample", dependencies: samovar, path: "Examples/Buttons", swiftSettings: settings),
        .executableTarget(
            name: "TwiceExample", dependencies: samovar, path: "Examples/Twice", swiftSettings: settings),
        .executableTarget(
            name: "QuotesExample", dependencies: samovar, path: "Examples/Quotes", exclude: ["quotes.txt"], swiftSettings: settings),
        .executableTarget(
            name: "WebhooksExample", dependencies: samovar, path: "Examples/Webhooks", exclude: ["trial.py"],
            swiftSettings: settings),

        // With a journal in PostgreSQL.
        .executableTarget(
            name: "TicketsExample", dependencies: samovar + ["PostgreSQLJournal", "SamovarLoadTest"], path: "Examples/Tickets",
            swiftSettings: settings
        ),

        .executableTarget(
            name: "ConformExample", dependencies: samovar, path: "Examples/Conform", swiftSettings: settings),

        .executableTarget(
            name: "JournalBenchmark",
            dependencies: [
                "SamovarCore", "MessagePack", "SamovarWire", "SamovarStore", "Journal", "JournalChain", "SQLiteJournal",
                "SamovarHost", logging,
            ],
            path: "Benchmarks/Journal", swiftSettings: settings),

        .executableTarget(
            name: "ReadmeProgram", dependencies: samovar, path: "Tests/ReadmeProgram", swiftSettings: settings),
        // A program that is not deterministic, for those who must find that out.
        .executableTarget(
            name: "FickleProgram", dependencies: samovar + ["PostgreSQLJournal", "SamovarWeb"], path: "Tests/FickleProgram",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "TrapProgram", dependencies: samovar + ["SamovarWeb"], path: "Tests/TrapProgram", swiftSettings: settings),
        // A program with gates and observers, for the tests of both.
        .executableTarget(
            name: "TurnstileProgram", dependencies: samovar, path: "Tests/TurnstileProgram", swiftSettings: settings),
        .executableTarget(
            name: "VersionedProgram", dependencies: samovar, path: "Tests/VersionedProgram", swiftSettings: settings),
        .testTarget(name: "ReadmeTests", dependencies: ["ReadmeProgram", "ProcessSupport"], swiftSettings: settings),
        // The code in docs and articles that is no example's.
        .testTarget(name: "SnippetTests", dependencies: samovar + ["SamovarTesting", logging], swiftSettings: settings),
        .testTarget(name: "SamovarCoreTests", dependencies: ["SamovarCore"], swiftSettings: settings),
        .testTarget(
            name: "SamovarTestingTests", dependencies: ["SamovarCore", "MessagePack", "SamovarWorker", "SamovarTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "MessagePackTests", dependencies: ["MessagePack", "ProcessSupport"], exclude: ["interop.py"],
            swiftSettings: settings),
        .testTarget(
            name: "SamovarTerminalTests", dependencies: ["SamovarTerminal", "SamovarCore", "MessagePack", "ProcessSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "SamovarLoadTests",
            dependencies: ["SamovarLoad", "SamovarCore", "SamovarWire", "SamovarPeers", "SamovarStore", "MessagePack"],
            swiftSettings: settings),
        .testTarget(
            name: "SamovarLoadTestTests",
            dependencies: ["SamovarLoadTest", "SamovarLoad", "SamovarStore", "MessagePack"],
            swiftSettings: settings),
        .testTarget(name: "SHA2Tests", dependencies: ["SHA2"], swiftSettings: settings),
        .testTarget(
            name: "ZeroMQTests", dependencies: ["ZeroMQ", "CZeroMQ", "ProcessSupport"], swiftSettings: settings),
        .testTarget(name: "JournalTests", dependencies: ["Journal", "SamovarTesting"], swiftSettings: settings),
        .testTarget(
            name: "SQLiteJournalTests",
            dependencies: ["Journal", "JournalChain", "SQLiteJournal", "SamovarTesting", "ProcessSupport", grdb],
            swiftSettings: settings),
        // With a server that they start.
        .target(
            name: "PostgreSQLSupport", dependencies: ["PostgreSQL", "PostgreSQLJournal", "ProcessSupport"],
            path: "Tests/PostgreSQLSupport", swiftSettings: settings),
        .testTarget(
            name: "PostgreSQLJournalTests",
            dependencies: [
                "SamovarCore", "Journal", "JournalChain", "PostgreSQL", "PostgreSQLJournal", "PostgreSQLSupport", "TicketsExample",
                "FickleProgram", "SamovarTesting", "ProcessSupport",
            ],
            swiftSettings: settings),
        // What the tests of all machines speak of.
        .target(
            name: "MachineSupport", dependencies: ["SamovarCore", "SamovarWire", "MessagePack"], path: "Tests/MachineSupport",
            swiftSettings: settings),
        .testTarget(
            name: "SamovarWireTests", dependencies: ["MachineSupport", "SamovarCore", "SamovarWire", "MessagePack"],
            swiftSettings: settings),
        .testTarget(
            name: "SamovarPeersTests",
            dependencies: ["MachineSupport", "SamovarCore", "SamovarWire", "SamovarPeers", "MessagePack"], swiftSettings: settings),
        .testTarget(
            name: "SamovarStoreTests",
            dependencies: ["MachineSupport", "SamovarCore", "SamovarWire", "SamovarPeers", "SamovarStore", "MessagePack"],
            swiftSettings: settings),
        .testTarget(
            name: "SamovarSimulatorTests",
            dependencies: ["SamovarSimulator", "SamovarCore", "SamovarWire", "SamovarStore", "Journal", "SamovarTesting"],
            swiftSettings: settings),
        .testTarget(
            name: "SamovarCommandsTests",
            dependencies: samovar + ["SamovarStore", "MessagePack", "ProcessSupport", argumentParser, logging, subprocess],
            swiftSettings: settings),
        .testTarget(
            name: "SamovarTextTests",
            dependencies: [
                "Samovar", "SamovarText", "SamovarTerminal", "SamovarCore", "SamovarWire", "SamovarStore", "MessagePack",
                "ProcessSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "NewCommandTests", dependencies: ["NewCommand", "SamovarText"], swiftSettings: settings),
        // Decoders, and what tries them.
        .target(
            name: "FuzzSubjects",
            dependencies: [
                "SamovarCore", "SamovarWire", "SamovarPeers", "SamovarStore", "SamovarText", "SamovarCommands", "MessagePack",
            ],
            path: "Tests/FuzzSubjects", exclude: ["Corpus"], swiftSettings: settings),
        .testTarget(
            name: "FuzzTests", dependencies: ["FuzzSubjects", "ProcessSupport"], swiftSettings: settings),
        .testTarget(
            name: "SamovarHostTests",
            dependencies: [
                "SamovarHost", "SamovarCore", "SamovarWire", "SamovarPeers", "SamovarStore", "MessagePack", "SamovarWorker",
                "ZeroMQ", "CLinux", "Journal", "JournalChain",
                "ProcessSupport",
                lifecycle, logging,
            ],
            swiftSettings: settings),
        // Real processes.
        .target(name: "ProcessSupport", path: "Tests/ProcessSupport", swiftSettings: settings),
        // The program that is tormented, what its processes write down, and the judge of it.
        .target(
            name: "ChaosSupport",
            dependencies: [
                "ProcessSupport", "PostgreSQLSupport", "SamovarCore", "SamovarWire", "MessagePack", "Journal", "JournalChain",
                "SQLiteJournal", "PostgreSQL", "PostgreSQLJournal",
            ],
            path: "Tests/ChaosSupport", swiftSettings: settings),
        // Peers that know libzmq alone, in C.
        .target(name: "Strangers", dependencies: ["CZeroMQ"], path: "Tests/Strangers"),
        .executableTarget(
            name: "ChaosProgram",
            dependencies: samovar + [
                "SamovarLoadTest", "ChaosSupport", "ProcessSupport", "PostgreSQLJournal", "CrashPoints", "Strangers",
                "SamovarWire", "SamovarPeers", "ZeroMQ",
                "MessagePack", logging, signals,
            ],
            path: "Tests/ChaosProgram", swiftSettings: settings),
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "ProcessSupport", "PostgreSQLSupport", "PostgreSQLJournal", "ChaosSupport", "ChaosProgram", "DupesExample",
                "CounterExample", "CrashPoints", "SamovarCore", "SamovarWire", "SamovarHost", "MessagePack", logging,
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "ContractProgram", dependencies: samovar + ["SamovarLoadTest", logging], path: "Tests/ContractProgram",
            swiftSettings: settings),
        .testTarget(
            name: "ContractTests",
            dependencies: ["ProcessSupport", "ContractProgram", "SamovarWire", "SamovarPeers", "MessagePack", "ZeroMQ", logging]
                + samovar,
            swiftSettings: settings),
        // Peers that know docs/protocol.md alone: neither frames nor machines of ours, but sockets and MessagePack.
        .testTarget(
            name: "ForeignPeerTests",
            dependencies: ["ProcessSupport", "ContractProgram", "CounterExample", "ZeroMQ", "CZeroMQ", "MessagePack"],
            swiftSettings: settings),
        // What plays a store to peers: in virtual time with our machines, and with real processes.
        .testTarget(
            name: "SamovarConformanceTests",
            dependencies: [
                "SamovarConformance", "SamovarWire", "SamovarPeers", "SamovarStore", "SamovarText", "SamovarCore", "MessagePack",
                "ProcessSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ConformTests", dependencies: ["ProcessSupport", "ConformExample", "SamovarCLI", "MessagePack"],
            swiftSettings: settings),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "ProcessSupport", "CounterExample", "DupesExample", "TallyExample", "ReadmeProgram", "FickleProgram", "TrapProgram",
                "TurnstileProgram", "VersionedProgram", "SamovarCLI", "SamovarCore", "SamovarWire", "SamovarStore", "SamovarLoad",
                "SamovarLoadTest",
                "SamovarHost", "MessagePack", "ZeroMQ", "CrashPoints", "Journal", "SQLiteJournal", grdb,
            ],
            swiftSettings: settings),
        // The page: its rules, its server, and a browser before it.
        .testTarget(
            name: "WebTests",
            dependencies: [
                "SamovarWeb", "SamovarCommands", "SamovarText", "SamovarTerminal", "SamovarCore", "SamovarWire", "SamovarStore",
                "MessagePack",
                "ProcessSupport",
                "TallyExample", "CounterExample", "TrapProgram", "SamovarCLI",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "CounterExampleTests", dependencies: ["CounterExample", "SamovarCore", "SamovarTesting"], swiftSettings: settings),
        // The smaller examples, each with a suite of its own, and the commands that the README shows of all.
        .testTarget(
            name: "ExampleTests",
            dependencies: [
                "StopwatchExample", "ButtonsExample", "TwiceExample", "QuotesExample", "CounterExample", "TallyExample",
                "WebhooksExample", "SamovarCore", "SamovarWorker", "SamovarTesting", "MessagePack", "ProcessSupport",
            ],
            exclude: ["Turns1To633.capsule"], swiftSettings: settings),
        .testTarget(
            name: "DupesExampleTests", dependencies: ["DupesExample", "SHA2", "SamovarCore", "MessagePack"], swiftSettings: settings
        ),
    ]
)

if !fuzzer.isEmpty {
    package.targets += [
        .target(name: "CFuzzer", path: "Tests/CFuzzer"),
        .executableTarget(
            name: "FuzzDecoders", dependencies: ["FuzzSubjects", "CFuzzer"], path: "Tests/FuzzDecoders", swiftSettings: settings,
            linkerSettings: [.unsafeFlags([fuzzer, "-lstdc++", "-lm"])]),
    ]
}

// A copy that a program keeps of Samovar has the sources alone, and so only what is made of them.
package.targets.removeAll { target in
    let path = target.path ?? (target.isTest ? "Tests/" : "Sources/") + target.name
    return !FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(path)")
}
let names = Set(package.targets.map(\.name))
package.products.removeAll { product in
    guard let program = product as? Product.Executable else { return false }
    return !names.isSuperset(of: program.targets)
}
