import SamovarStore
import Testing

@testable import SamovarCommands

@Suite struct SettingsPrecedenceTests {
    @Test func `Nothing configured is the default`() throws {
        let settings = try ProcessSettings.read(flags: [:], configFile: nil, environment: [:])
        #expect(settings == ProcessSettings())
        #expect(settings.store == StoreSettings())
    }

    @Test func `Flags win over variables over the file`() throws {
        let file = try TemporaryFile("data: from-file\nlog: {level: debug}\nslots: 1\nstore:\n  window: 10\n  inbox: 20\n")
        let settings = try ProcessSettings.read(
            flags: ["data": "from-flag"], configFile: file.path,
            environment: ["SAMOVAR_DATA": "from-variable", "SAMOVAR_LOG_LEVEL": "trace", "SAMOVAR_STORE_WINDOW": "30"])
        #expect(settings.data == "from-flag")
        #expect(settings.logLevel == "trace")
        #expect(settings.slots == 1)
        #expect(settings.store.window == 30)
        #expect(settings.store.inbox == 20)
        #expect(settings.store.sessions == StoreSettings().sessions)
        #expect(settings.warnings == [])
    }

    @Test func `A data folder of a weaker source than the endpoint's may be another store's, the default as well`() throws {
        let endpoint = "ipc:///there"
        let (data, both) = (try TemporaryFile("data: d\n"), try TemporaryFile("data: d\nendpoint: \(endpoint)\n"))
        let alone = try TemporaryFile("endpoint: \(endpoint)\n")
        let (variable, folder) = (["SAMOVAR_ENDPOINT": endpoint], ["SAMOVAR_DATA": "d"])
        let cases: [(flags: [String: String], variables: [String: String], file: TemporaryFile?, isOfAnother: Bool)] = [
            (["endpoint": endpoint], [:], nil, true), (["endpoint": endpoint], folder, nil, true),
            (["endpoint": endpoint], [:], both, true), (["endpoint": endpoint, "data": "d"], [:], nil, false),
            ([:], variable, nil, true), ([:], variable, data, true), ([:], variable.merging(folder) { $1 }, nil, false),
            ([:], [:], alone, false), ([:], [:], both, false), (["data": "d"], variable, nil, false), ([:], folder, alone, false),
            ([:], folder, nil, false), ([:], [:], nil, false),
        ]
        for (flags, variables, file, isOfAnother) in cases {
            let settings = try ProcessSettings.read(flags: flags, configFile: file?.path, environment: variables)
            #expect(settings.isDataOfAnother == isOfAnother, "\(flags) \(variables)")
            #expect(settings.dataOfStore == (isOfAnother ? nil : settings.data))
        }
    }

    @Test func `Every setting has a variable`() throws {
        let settings = try ProcessSettings.read(
            flags: [:], configFile: nil,
            environment: [
                "SAMOVAR_DATA": "d",
                "SAMOVAR_ENDPOINT": "tcp://127.0.0.1:7700",
                "SAMOVAR_KEY": "k",
                "SAMOVAR_INSECURE_TCP": "true",
                "SAMOVAR_LOG_LEVEL": "error",
                "SAMOVAR_SLOTS": "2",
                "SAMOVAR_READ_AHEAD": "3",
                "SAMOVAR_QUEUES": "default, mail",
                "SAMOVAR_WORKERS": "0",
                "SAMOVAR_STORE_WINDOW": "5",
                "SAMOVAR_STORE_INBOX": "6",
                "SAMOVAR_STORE_INBOX_MEBIBYTES": "7",
                "SAMOVAR_STORE_SESSIONS": "8",
                "SAMOVAR_STORE_SESSION_IDLE_SECONDS": "9",
                "SAMOVAR_STORE_OPEN_EFFECTS": "10",
                "SAMOVAR_STORE_SILENCE_SECONDS": "11",
                "SAMOVAR_STORE_TIMEOUT_GRACE_SECONDS": "12",
                "SAMOVAR_STORE_SUSPECT_DEATHS": "13",
                "SAMOVAR_STORE_SLOW_CALL_SECONDS": "23",
                "SAMOVAR_STORE_UNSERVED_WARNING_SECONDS": "14",
                "SAMOVAR_STORE_VIEW_INTERVAL_MILLISECONDS": "15",
                "SAMOVAR_STORE_VIEW_COST_FACTOR": "16",
                "SAMOVAR_STORE_SNAPSHOT_MEBIBYTES": "17",
                "SAMOVAR_STORE_DRAIN_SECONDS": "18",
                "SAMOVAR_STORE_GOODBYE_SECONDS": "25",
                "SAMOVAR_STORE_CLIENTS": "26",
                "SAMOVAR_STORE_WAITERS": "19",
                "SAMOVAR_STORE_VIEW_TOPICS": "24",
                "SAMOVAR_STORE_FEED_VIEWS": "20",
                "SAMOVAR_STORE_FEED_MEBIBYTES": "21",
                "SAMOVAR_STORE_FEED_READERS": "22",
                "SAMOVAR_RETAIN": "20",
                "SAMOVAR_CHECK_INVARIANTS": "true",
                "SAMOVAR_CAPABILITIES": "gpu,av1",
                "SAMOVAR_STORE_SNAPSHOT_TURNS": "21",
            ])
        var expected = ProcessSettings(
            data: "d", endpoint: "tcp://127.0.0.1:7700", key: "k", insecureTcp: true, logLevel: "error", slots: 2, readAhead: 3,
            queues: ["default", "mail"], capabilities: ["gpu", "av1"], workers: 0, retain: 20)
        expected.store.checksInvariants = true
        expected.store.window = 5
        expected.store.inbox = 6
        expected.store.inboxBytes = 7 << 20
        expected.store.sessions = 8
        expected.store.clients = 26
        expected.store.sessionIdle = .seconds(9)
        expected.store.openEffects = 10
        expected.store.silence = .seconds(11)
        expected.store.timeoutGrace = .seconds(12)
        expected.store.suspectDeaths = 13
        expected.store.slowCall = .seconds(23)
        expected.store.unservedWarning = .seconds(14)
        expected.store.viewInterval = .milliseconds(15)
        expected.store.viewCostFactor = 16
        expected.store.snapshotBytes = 17 << 20
        expected.store.drain = .seconds(18)
        expected.goodbye = .seconds(25)
        expected.store.waiters = 19
        expected.store.viewTopics = 24
        expected.store.feedViews = 20
        expected.store.feedBytes = 21 << 20
        expected.store.feedReaders = 22
        expected.store.snapshotTurns = 21
        expected.storePlaces = ["SAMOVAR_DATA", "SAMOVAR_ENDPOINT"]
        #expect(settings == expected)
    }

    @Test func `As many slots as a worker may have, and limits of queues, come from any source`() throws {
        let file = try TemporaryFile("slots: 65536\nqueues: [default, http=4]\n")
        let fromFile = try ProcessSettings.read(flags: [:], configFile: file.path, environment: [:])
        let variables = ["SAMOVAR_SLOTS": "65536", "SAMOVAR_QUEUES": "default,http=4"]
        let fromVariables = try ProcessSettings.read(flags: [:], configFile: nil, environment: variables)
        #expect(fromFile == fromVariables && fromFile.slots == 65_536 && fromFile.queues == ["default", "http=4"])
    }

    @Test(arguments: ["", "=4", "default,http=4"])
    func `What is no name of a queue is refused, from a file as well`(text: String) throws {
        #expect(queueArgument(text) == nil)
        let file = try TemporaryFile("queues: [\"\(text)\"]\n")
        #expect(throws: SettingsError.self) { try ProcessSettings.read(flags: [:], configFile: file.path, environment: [:]) }
    }

    @Test func `An empty variable is not set`() throws {
        let settings = try ProcessSettings.read(flags: [:], configFile: nil, environment: ["SAMOVAR_SLOTS": "", "SAMOVAR_X": ""])
        #expect(settings == ProcessSettings())
    }

    @Test func `Unknown variables are warnings`() throws {
        let settings = try ProcessSettings.read(
            flags: [:], configFile: nil,
            environment: [
                "SAMOVAR_STORE_WINDW": "3",
                "SAMOVAR_\u{1b}": "x",
                "SAMOVAR_RUNTIME_DIR": "/run",
                "SAMOVAR_WORKER_ID": "7",
                "HOME": "/",
            ])
        #expect(
            settings.warnings == [
                "the environment variable SAMOVAR_\\u{1b} is unknown and ignored",
                "the environment variable SAMOVAR_STORE_WINDW is unknown and ignored; did you mean SAMOVAR_STORE_WINDOW?",
            ])
    }
}
