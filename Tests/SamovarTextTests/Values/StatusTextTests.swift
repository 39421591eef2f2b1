import MessagePack
import Testing

@testable import SamovarText

/// What `status` and `effects TURN/ORDINAL` print for people.
@Suite struct StatusTextTests {
    private static let status: MessagePackValue = [
        "program": "Tally", "schema": 2, "build": "b1", "timeline": "0af1", "phase": "serving", "durability": "fdatasync",
        "turn": 81_203,
        "durable": 81_190, "starts": 4, "uptimeSeconds": 11_530, "clients": 3, "maximumClients": 4_096, "sessions": 12, "inbox": 0,
        "openEffects": 5, "maximumOpenEffects": 1_000_000, "deadEffects": 0, "maximumDeadEffects": 10_000, "views": "on",
        "snapshots": "on", "suspects": 0, "awaitedWorkers": 0, "snapshotTurn": 80_000, "snapshotTime": .nil,
        "lag": ["turns": 13, "seconds": .double(0.0042)],
        "process": ["residentBytes": 35_651_584, "journalBytes": 12_897_484, "freeBytes": 49_392_123_904],
        "rates": [
            "seconds": .double(12), "turns": .double(120.5), "inputs": .double(98), "effectsClosed": .double(45.25),
            "journalBytes": .double(12_300),
        ],
        "commit": ["count": 9, "p50": .double(0.00031), "p99": .double(0.0021)],
        "round": ["count": 0, "p50": .nil, "p99": .nil],
        "follower": ["turn": 81_200, "comparedTurn": .nil, "seconds": 1],
        "workers": [["id": "w1", "slots": 2, "running": 1, "queues": ["default"], "silentMilliseconds": 12]],
        "queues": [
            [
                "name": "default", "waiting": 4, "oldestSeconds": .double(0.25), "behind": 0, "delayed": 0, "running": 1,
                "slots": 2,
                "served": true, "paused": false, "wait": ["count": 3, "p50": .double(0.001), "p99": .double(1.5)],
                "attempt": ["count": 0, "p50": .nil, "p99": .nil],
            ]
        ],
        "countersSince": "2026-07-31T09:05:00Z", "counters": ["applied": 81_000, "refused": 0, "lateResults": 2],
    ]

    @Test func `A status is aligned groups with units, of what tells something`() {
        #expect(
            StatusText.lines(of: Self.status) == """
                store
                  program   Tally 2, build b1
                  timeline  0af1
                  phase     serving, up 3 h 12 min, start 4
                  turn      81203, 13 not on disk yet for 4.2 ms
                  rates     120 turns/s, 98 inputs/s
                  memory    34 MiB
                  follower  3 turns behind, heard 1 s ago

                journal
                  durability  fdatasync
                  rate        12 KiB/s
                  commits     p50 310 µs, p99 2.1 ms
                  snapshot    turn 80000

                disk
                  journal  12.3 MiB
                  free     46 GiB

                clients
                  connected       3 of 4096 at most
                  sessions        12
                  inputs waiting  0

                effects
                  open    5 of 1000000 at most
                  dead    0 of 10000 at most
                  closed  45.2/s

                1 queue
                name     waiting  oldestSeconds  behind  delayed  running  slots  served  wait
                default        4  0.25                0        0        1      2  yes     p50 1 ms, p99 1.5 s

                1 worker
                id  slots  running  silentMilliseconds  queues
                w1      2        1                  12  default

                counted since 2026-07-31T09:05:00Z
                  applied      81000
                  lateResults  2
                """)
    }

    @Test func `Facts stand below each other beside names of wide letters`() {
        #expect(
            StatusText.lines(of: ["counters": ["緑茶": 3, "applied": 1]]) == """
                counted since the start
                  緑茶     3
                  applied  1
                """)
    }

    @Test func `A store that looks at invariants says which are broken, and since when`() {
        func line(_ invariants: MessagePackValue) -> String? {
            let text = StatusText.lines(of: Self.status.setting("invariants", to: invariants))
            return text.split(separator: "\n").first { $0.contains("invariants") }.map { $0.split(separator: " ", maxSplits: 1)[1] }
                .map { String($0.drop { $0 == " " }) }
        }
        #expect(line(.nil) == nil)
        #expect(line(["count": 2, "broken": []]) == "2, none is broken")
        let broken: MessagePackValue = ["count": 2, "broken": [["name": "stock", "turn": 7], ["name": "sum", "turn": 9]]]
        #expect(line(broken) == "“stock” broken by turn 7, “sum” broken by turn 9")
    }

    @Test func `A label that is paused cannot speak to the terminal`() {
        let text = StatusText.queues(of: ["queues": [], "paused": [["label": "a\u{1b}[2J"]]])
        #expect(text.contains("paused labels: “a") && !text.unicodeScalars.contains("\u{1b}"), "\(text)")
    }

    @Test func `A store that is held up says why and since when, and what it does not tell is left out`() {
        let text = StatusText.lines(of: [
            "program": "Tally", "schema": 1, "phase": "disk full", "turn": 9, "durable": 9, "diskFullSince": "2026-07-31T09:05:00Z",
            "workers": 2, "openEffects": 3,
        ])
        #expect(
            text == """
                store
                  program  Tally 1
                  phase    disk full
                  held up  the disk is full since 2026-07-31T09:05:00Z: no input is accepted
                  turn     9, on disk

                effects
                  open  3

                2 workers
                """)
    }

    @Test func `Whatever could move the cursor is shown as its number`() {
        let text = StatusText.lines(of: ["program": "a\u{1b}[2J", "counters": ["\u{1b}": 1]])
        #expect(!text.contains("\u{1b}"))
    }

    @Test(
        arguments: [
            (.int(0), "0 B"), (.int(1_023), "1023 B"), (.int(1_024), "1 KiB"), (.double(1_536), "1.5 KiB"),
            (.int(1 << 50), "1024 TiB"),
            (.nil, nil), (.double(.nan), nil),
        ] as [(MessagePackValue, String?)])
    func `Bytes have the unit that fits`(_ value: MessagePackValue, _ text: String?) {
        #expect(Quantity.bytes(value) == text)
    }

    @Test func `Ages and durations have the units that fit`() {
        #expect(
            [0, 59, 60, 3_599, 3_600, 90_000, 172_800].map { Quantity.age(.int($0)) }
                == ["0 s", "59 s", "1 min", "59 min", "1 h", "1 d 1 h", "2 d"])
        #expect(
            [0, 0.0000851, 0.00123, 0.25, 3, 67.1].map { Quantity.duration(.double($0)) }
                == ["0 µs", "85 µs", "1.23 ms", "250 ms", "3 s", "67.1 s"])
    }

    @Test func `An effect is its facts and the table of its attempts`() {
        let text = AttemptsText.lines(of: [
            "effect": "17/0", "state": "open", "remembersSince": "2026-07-31T09:00:00Z", "attemptCount": 2,
            "open": [
                "effect": "17/0", "queue": "http", "label": .nil, "root": 12, "ordered": "2026-07-31T09:05:00Z", "failures": 1,
                "deaths": 0,
                "payload": ["fetch": ["url": "x"]], "status": "waiting", "waitsFor": "time",
                "nextAttempt": "2026-07-31T09:06:00Z",
            ],
            "attempts": [
                [
                    "attempt": 1, "worker": "w1", "handedOut": "2026-07-31T09:05:00Z", "claimed": false, "startedBy": .nil,
                    "ended": "2026-07-31T09:05:00.5Z", "seconds": .double(0.5), "how": "failed",
                ],
                [
                    "attempt": 2, "worker": "w2", "handedOut": "2026-07-31T09:05:01Z", "claimed": true, "startedBy": .nil,
                    "ended": .nil,
                    "seconds": .nil, "how": "running",
                ],
            ],
        ])
        #expect(
            text == """
                effect        17/0
                state         waiting
                waits for     time
                next attempt  2026-07-31T09:06:00Z
                queue         http
                kind          fetch
                ordered       2026-07-31T09:05:00Z
                root          12
                failures      1
                deaths        0

                2 attempts since 2026-07-31T09:00:00Z; a restart of the store forgets them
                attempt  worker  handedOut             ended                   seconds  how
                      1  w1      2026-07-31T09:05:00Z  2026-07-31T09:05:00.5Z  0.5      failed
                      2  w2      2026-07-31T09:05:01Z                                   running, claimed
                """)
        let gone = AttemptsText.lines(of: [
            "effect": "3/0", "state": "unknown", "remembersSince": "2026-07-31T09:00:00Z", "attemptCount": 0, "attempts": [],
        ])
        #expect(
            gone == """
                effect  3/0
                state   closed, or never ordered

                0 attempts since 2026-07-31T09:00:00Z; a restart of the store forgets them
                """)
    }
}
