import Testing

@testable import SamovarCommands

private let queueList = "a list of queues, each NAME, or NAME=4 for at most 4 of its jobs at once"
private let capabilityList = "a list of 1 to 64 names of at most 128 bytes"
private let longName = String(repeating: "a", count: 129)

@Suite struct SettingsErrorTests {
    @Test(arguments: [
        ("slots", "0", "--slots is \"0\"; expected an integer from 1 to 65536"),
        ("readAhead", "-1", "--read-ahead is \"-1\"; expected an integer from 0 to 65536"),
        (
            "log.level", "loud",
            "--log-level is \"loud\"; expected one of trace, debug, info, notice, warning, error, critical"
        ),
        ("data", "", "--data is \"\"; expected the path of a folder"),
        ("workers", "\u{1b}[2J", "--workers is \"\\u{1b}[2J\"; expected an integer from 0 to 1024"),
    ])
    func `A flag that does not fit`(_ key: String, _ text: String, _ expected: String) {
        #expect(message(flags: [key: text]) == expected)
    }

    @Test(arguments: [
        ("SAMOVAR_STORE_WINDOW", "abc", "SAMOVAR_STORE_WINDOW is \"abc\"; expected an integer from 1 to 65536"),
        ("SAMOVAR_STORE_WINDOW", "65537", "SAMOVAR_STORE_WINDOW is \"65537\"; expected an integer from 1 to 65536"),
        ("SAMOVAR_STORE_WINDOW", "4.5", "SAMOVAR_STORE_WINDOW is \"4.5\"; expected an integer from 1 to 65536"),
        (
            "SAMOVAR_STORE_WAITERS", "99999999999999999999",
            "SAMOVAR_STORE_WAITERS is \"99999999999999999999\"; expected an integer from 1 to 1000000"
        ),
        ("SAMOVAR_SLOTS", "65537", "SAMOVAR_SLOTS is \"65537\"; expected an integer from 1 to 65536"),
        ("SAMOVAR_QUEUES", "a,,b", "SAMOVAR_QUEUES is [\"a\", \"\", \"b\"]; expected \(queueList)"),
        ("SAMOVAR_QUEUES", "a,b=0", "SAMOVAR_QUEUES is [\"a\", \"b=0\"]; expected \(queueList)"),
        ("SAMOVAR_QUEUES", "=4", "SAMOVAR_QUEUES is [\"=4\"]; expected \(queueList)"),
        (
            "SAMOVAR_CAPABILITIES", longName, "SAMOVAR_CAPABILITIES is [\"\(longName.prefix(78))…]; expected \(capabilityList)"
        ),
    ])
    func `A variable that does not fit`(_ name: String, _ text: String, _ expected: String) {
        #expect(message(environment: [name: text]) == expected)
    }

    @Test(arguments: [
        ("store: {windw: 5}", "unknown key \"store.windw\" in FILE, line 1; did you mean \"store.window\"?"),
        ("stroe:\n  window: 5", "unknown key \"stroe.window\" in FILE, line 2; did you mean \"store.window\"?"),
        ("# first\nSlots: 5", "unknown key \"Slots\" in FILE, line 2; did you mean \"slots\"?"),
        (
            "colour: red",
            """
            unknown key "colour" in FILE, line 1; known keys: data, journal, endpoint, key, insecureTcp, keys, log.level, slots, readAhead, queues, \
            capabilities, workers, retain, checkInvariants, store.window, store.inbox, store.inboxMebibytes, store.sessions, store.clients, store.sessionIdleSeconds, store.openEffects, \
            store.deadEffects, store.silenceSeconds, store.timeoutGraceSeconds, store.suspectDeaths, store.slowCallSeconds, \
            store.unservedWarningSeconds, store.viewIntervalMilliseconds, store.viewCostFactor, store.viewTopics, store.feedViews, store.feedMebibytes, \
            store.feedReaders, store.snapshotMebibytes, store.snapshotTurns, store.drainSeconds, store.waiters, store.goodbyeSeconds
            """
        ),
        ("slots: many", "\"slots\" in FILE, line 1 is \"many\"; expected an integer from 1 to 65536"),
        ("slots: true", "\"slots\" in FILE, line 1 is \"true\"; expected an integer from 1 to 65536"),
        ("slots: 1.0", "\"slots\" in FILE, line 1 is \"1.0\"; expected an integer from 1 to 65536"),
        ("slots: [1]", "\"slots\" in FILE, line 1 is a list; expected an integer from 1 to 65536"),
        ("slots: {a: 1}", "unknown key \"slots.a\" in FILE, line 1; did you mean \"slots\"?"),
        ("slots:", "\"slots\" in FILE, line 1 has no value; expected an integer from 1 to 65536"),
        ("data: ~", "\"data\" in FILE, line 1 has no value; expected the path of a folder"),
        ("data: ''", "\"data\" in FILE, line 1 is \"\"; expected the path of a folder"),
        // In base 60, which makes a reader of YAML integers overflow.
        (
            "slots: 90000000000000000:0:0:0",
            "\"slots\" in FILE, line 1 is \"90000000000000000:0:0:0\"; expected an integer from 1 to 65536"
        ),
        ("queues: mail", "\"queues\" in FILE, line 1 is one text; expected \(queueList)"),
        ("queues: [mail=65537]", "\"queues\" in FILE, line 1 is [\"mail=65537\"]; expected \(queueList)"),
        ("capabilities: []", "\"capabilities\" in FILE, line 1 is []; expected \(capabilityList)"),
        ("queues: []", "\"queues\" in FILE, line 1 is []; expected \(queueList)"),
        ("queues: [{a: 1}]", "\"queues\" in FILE, line 1 has a list or keys inside a list; expected texts there"),
        ("slots: 1\nslots: 2", "FILE is no YAML: \"slots\" occurs twice (line 1)"),
        ("store.window: 1\nstore: {window: 2}", "\"store.window\" in FILE, line 2 was set before"),
        ("store..window: 1\nstore: {window: 2}", "unknown key \"store..window\" in FILE, line 1; did you mean \"store.window\"?"),
        ("[1]: 2", "a key in FILE, line 1 is no text"),
        ("- slots", "FILE has no keys at its top; expected lines such as \"slots: 4\""),
        ("slots", "FILE has no keys at its top; expected lines such as \"slots: 4\""),
        ("slots: 1\n  window: 2", "FILE is no YAML: mapping values are not allowed in this context (line 2, column 9)"),
        ("slots: *four", "FILE is no YAML: found undefined alias (line 1, column 8)"),
        ("slots: 1\n---\nslots: 2", "FILE is no YAML: but found another document (line 2, column 1)"),
        ("data: \u{1b}", "FILE is no YAML: control characters are not allowed"),
        ("\"\\e[2J\": 1", "unknown key \"\\u{1b}[2J\" in FILE, line 1; known keys: "),
    ])
    func `A file that does not fit`(_ yaml: String, _ expected: String) throws {
        let file = try TemporaryFile(yaml)
        let message = message(file: file.path).replacing(file.path, with: "FILE")
        #expect(expected.hasSuffix(": ") ? message.hasPrefix(expected) : message == expected)
    }

    @Test func `A line of the file is checked though a flag wins`() throws {
        let file = try TemporaryFile("slots: many")
        let message = message(flags: ["slots": "4"], file: file.path)
        #expect(message == "\"slots\" in \(file.path), line 1 is \"many\"; expected an integer from 1 to 65536")
    }

    private func message(flags: [String: String] = [:], file: String? = nil, environment: [String: String] = [:]) -> String {
        do {
            return "read as \(try ProcessSettings.read(flags: flags, configFile: file, environment: environment))"
        } catch {
            return error.description
        }
    }
}
