import SamovarText

/// Everything around the sources of a written package.
struct PackageTemplate {
    let name: ScaffoldName
    let choices: ScaffoldChoices
    let source: SamovarSource

    /// All files of the package.
    var files: [ScaffoldFile] {
        [
            ScaffoldFile(path: "Package.swift", text: manifest),
            ScaffoldFile(path: "README.md", text: readme),
            ScaffoldFile(path: ".gitignore", text: gitignore),
            ScaffoldFile(path: "config/local.yaml", text: settings),
            ScaffoldFile(path: "Sources/\(name.module)/\(name.type).swift", text: program),
            ScaffoldFile(path: "Sources/\(name.module)/\(name.app).swift", text: app),
            ScaffoldFile(path: "Tests/\(name.type)Tests/\(name.type)Tests.swift", text: tests),
            ScaffoldFile(path: ".ci/run", text: check, isExecutable: true),
            ScaffoldFile(path: "config/\(name.package).service", text: unit),
        ] + (isSelfContained ? container : [])
    }

    private var container: [ScaffoldFile] {
        [
            ScaffoldFile(path: "Dockerfile", text: dockerfile),
            ScaffoldFile(path: ".dockerignore", text: dockerignore),
        ]
    }

    /// Keys are no part of a package. The folder at the root alone: where case does not count, sources have a folder Keys.
    private var gitignore: String { ".build\n.samovar\n/keys\n*.key\n" }

    /// The same, in Docker's words: a name without `**/` is one at the root.
    private var dockerignore: String { ".build\n.git\n.samovar\nkeys\n**/*.key\n" }

    /// Whether the package has, or can fetch, all that it needs.
    private var isSelfContained: Bool {
        if case .path = source { false } else { true }
    }

    private var manifest: String {
        """
        // swift-tools-version: 6.2
        import PackageDescription

        let samovar: Target.Dependency = .product(name: "Samovar", package: \(swiftLiteral(package)))
        let testing: Target.Dependency = .product(name: "SamovarTesting", package: \(swiftLiteral(package)))

        let package = Package(
            name: "\(name.package)",
            platforms: [.macOS(.v15)],
            products: [.executable(name: "\(name.package)", targets: ["\(name.module)"])],
            dependencies: [\(dependency)],
            targets: [
                .executableTarget(name: "\(name.module)", dependencies: [samovar]),
                .testTarget(name: "\(name.type)Tests", dependencies: ["\(name.module)", samovar, testing]),
            ]
        )

        """
    }

    private var dependency: String {
        switch source {
        case .copy: ".package(name: \"samovar\", path: \(swiftLiteral(SamovarSource.folder)))"
        case .path(let path): ".package(name: \"samovar\", path: \(swiftLiteral(path)))"
        case .repository(let from): ".package(url: \(swiftLiteral(from.url)), from: \(swiftLiteral(from.version)))"
        }
    }

    /// What the manifest calls Samovar.
    private var package: String {
        if case .repository(let repository) = source { repository.package } else { "samovar" }
    }

    private var settings: String {
        """
        # Settings of a store and its workers on one machine: \(name.package) up --config config/local.yaml
        # A flag wins over a SAMOVAR_* variable, a variable over this file. An unknown key is an error.

        # Worker processes of `up`.
        workers: \(choices.distributed ? 2 : 0)

        # The folder of the journal. Default: .samovar/\(name.package)
        # data: data

        log:
          # trace, debug, info, notice, warning, error or critical.
          level: info

        """
    }

    private var readme: String {
        choices.lines(
            of: """
                    # \(name.package)

                    A program that Samovar runs as processes: a store that owns the state, and workers.
                    It needs Swift 6.3, libzmq, SQLite and libcrypto (`apt-get install libzmq3-dev libsqlite3-dev libssl-dev pkg-config`).

                    ```sh
                    swift test
                    swift run \(name.package) up --config config/local.yaml
                    ```

                    and, in another terminal:

                    ```sh
                    swift run \(name.package) send '{"add":{"by":2}}'
                d   swift run \(name.package) send double --wait settled     # a worker takes a second for it
                i   swift run \(name.package) send start                    # the count grows by itself
                P   swift run \(name.package) monitor
                p   swift run \(name.package) monitor      # draws the panel: Tab and arrows move, Enter presses, q leaves
                    ```

                    How fast does it take inputs? In a release build, with data of its own:

                    ```sh
                    swift run -c release \(name.package) up --data .samovar/load
                    samovar load --data .samovar/load --input '{"add":{"by":1}}'     # in another terminal; samovar is the tool that wrote this
                    ```

                    `\(name.package) load` says how to have load tests that start and kill its processes.

                    | file | has |
                    |---|---|
                    | `Sources/\(name.module)/\(name.type).swift` | state, messages and `update`: all that the program is |
                    | `Sources/\(name.module)/\(name.app).swift` | the executable and its worker |
                    | `Tests/\(name.type)Tests` | tests of the program without processes |
                    | `config/local.yaml` | settings |
                    | `config/\(name.package).service` | a unit for systemd |
                    | `.ci/run` | the check for a clean machine: installs what is missing, builds, and runs the tests |
                    \(origin)

                    The journal is in `.samovar/\(name.package)`; `up --fresh` archives it and begins anew.

                """)
    }

    private var origin: String {
        switch source {
        case .copy:
            "| `Dockerfile` | a container |\n    "
                + "| `\(SamovarSource.folder)` | the sources of Samovar: for newer ones, put a newer copy in their place |"
        case .path(let path): "| `\(path)` | Samovar, which has to be there wherever the package is built |"
        case .repository: "| `Dockerfile` | a container |"
        }
    }
}
