import Testing

/// `docs/production.md` and the units that it installs belong together: a running store writes copies where its unit lets it.
@Suite struct ProductionPageTests {
    @Test(arguments: ["samovar@", "samovar-store@"])
    func `A running store may write its copies where the page has them made`(_ name: String) throws {
        let unit = try Checkout.text("config/systemd/\(name).service").split(separator: "\n")
        #expect(unit.contains("ProtectSystem=strict") && unit.contains("PrivateTmp=yes"))
        #expect(unit.contains("ReadWritePaths=-/var/backups/%i") && unit.contains("StateDirectory=%i"))
        #expect(unit.contains { $0.hasPrefix("MemoryMax=") }, "docs/security.md promises it")
        #expect(unit.contains("LimitNOFILE=65536"), "more than 300 workers of `up` need it, and many peers")
        let page = try Checkout.text("docs/production.md")
        #expect(page.contains("\ninstall -d -o counter -m 0700 /var/backups/counter\n"))
        let copies = page.matches(of: /journal export "?(\/var\/[^\s"]+)/).map { String($0.1) }
        #expect(copies.count == 2 && copies.allSatisfy { $0.hasPrefix("/var/backups/counter/") }, "\(copies)")
        // The first of them is asked while the old build serves, and its store makes the copy.
        let check = page.split(separator: "\n").first { $0.hasSuffix("$new check") }
        #expect(check?.contains(" TMPDIR=/var/lib/counter ") == true)
    }

    @Test func `The store's container has the store's folder of keys, and none has the folder with the keys of all peers`() throws {
        let lines = try Checkout.text("docker-compose.yml").split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(lines.filter { $0.hasPrefix("- ./keys") } == ["- ./keys/store:/keys/store:ro"])
        // Where the commands in its head have them made, and where the store looks for them.
        let maker = try #require(lines.first { $0.hasPrefix("#   keys() {") })
        #expect(maker.contains(#"-v "$PWD/keys:/keys""#) && maker.contains("--keys /keys/store;"))
        #expect(lines.contains { $0.hasPrefix("command: [store,") && $0.hasSuffix(" --keys, /keys/store]") })
    }

    /// Poison and memory end a store up to ten times until what ends it is given up (docs/guarantees.md), and systemd counts starts.
    @Test(arguments: [("samovar@", "64 65 70 77 78"), ("samovar-store@", "64 65 70 77 78"), ("samovar-worker@", "64 77 78")])
    func `A unit is started again however often it ends, but for ends that no start mends`(_ name: String, _ final: String) throws {
        let unit = try Checkout.text("config/systemd/\(name).service").split(separator: "\n")
        // Elsewhere systemd passes it over.
        let head = unit.prefix { $0 != "[Service]" }
        #expect(head.contains("StartLimitIntervalSec=0") && !unit.contains { $0.hasPrefix("StartLimitBurst=") })
        // A store takes the time of its machine once, at its start.
        #expect(head.contains { $0.hasPrefix("After=") && $0.hasSuffix("time-sync.target") })
        #expect(unit.contains("RestartSec=1") && unit.contains("RestartPreventExitStatus=\(final)"))
        // What a reload sends ends a process that has only just begun.
        let hasReload = unit.contains { $0.hasPrefix("ExecReload=/bin/kill -HUP ") }
        #expect(hasReload == (name == "samovar-store@") && hasReload == unit.contains("RestartForceExitStatus=SIGHUP"))
        // Where the kernel ends a child for want of memory, `up` starts that one again, and the others go on.
        #expect(unit.contains("OOMPolicy=continue") == (name == "samovar@"))
    }

    /// A file that is as it was tells by its age that the store is away; an empty new one does not.
    @Test(arguments: ["docs/metrics.md", "config/prometheus/scrape.yaml"])
    func `Metrics replace the former file only if a store has told them`(_ path: String) throws {
        let lines = try Checkout.text(path).split(separator: "\n").filter { $0.contains(" > ") && $0.contains(".prom.new") }
        #expect(lines.count == 1)
        for line in lines { #expect(line.contains(" --data /var/lib/counter/data > ") && line.hasSuffix(" &&"), "\(line)") }
    }
}
