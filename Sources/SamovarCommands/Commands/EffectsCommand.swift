import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText

struct EffectsCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "effects", abstract: "Lists open and dead effects, shows one with its attempts; requeues or drops them.",
            discussion: """
                Example: \(executableName) effects --dead
                         \(executableName) effects --queue http --limit 20
                         \(executableName) effects 17/0
                         \(executableName) effects --requeue 17/0 23/1
                         \(executableName) effects --drop --all
                A requeued effect has all its attempts before it again. A dropped one is closed for good. Both are records of the
                journal, and the program may make a message of them. Which worker had an effect, and when, is memory of the store: the
                newest 65536 attempts since its start.
                """)
    }

    @OptionGroup var options: PeerOptions
    @Flag(name: .long, help: "One line of JSON.") var json = false
    @Flag(name: .long, help: "Only the dead ones.") var dead = false
    @Option(name: .long, help: "Only those of this queue.") var queue: String?
    @Option(name: .long, help: "Only those with this label.") var label: String?
    @Option(name: .customLong("older-than"), help: "Only those that were ordered so long ago, such as 90s or 10m.")
    var olderThan: Seconds?
    @Option(name: .long, parsing: .unconditional, help: "So many of the oldest, at most 1000.") var limit: Int?
    @Flag(name: .long, help: "Show what each is, too; --json always does.") var payload = false
    @Flag(name: .long, help: "Open dead effects again.") var requeue = false
    @Flag(name: .long, help: "Close effects for good, dead or open.") var drop = false
    @Flag(name: .long, help: "With --requeue or --drop: every effect that is dead.") var all = false
    @Argument(help: "The effects to show, to requeue or to drop, by their names turn/ordinal.") var effects: [String] = []

    func validate() throws {
        if let limit, !(1...1_000).contains(limit) { throw ValidationError("--limit \(limit) is not between 1 and 1000") }
        if requeue, drop { throw ValidationError("--requeue and --drop exclude each other") }
        if requeue || drop {
            if all == !effects.isEmpty { throw ValidationError("name the effects as turn/ordinal, or say --all") }
        } else if all {
            throw ValidationError("what shall be done with them? say --requeue or --drop")
        }
        let narrowsList = dead || payload || queue != nil || label != nil || limit != nil || olderThan != nil
        if requeue || drop || !effects.isEmpty, narrowsList {
            throw ValidationError("--dead, --queue, --label, --older-than, --limit and --payload are for the list")
        }
    }

    func run() async throws {
        let admin = try options.admin(for: Types.self)
        if requeue || drop { return try await change(admin) }
        if !effects.isEmpty { return try await show(admin) }
        var answer = try await admin.ask("effects", filter)
        if dead { (answer["open"], answer["openCount"]) = (nil, nil) }
        printData(json ? JSONTranscoder.text(of: answer) : text(of: answer))
    }

    private func show(_ admin: AdminClient) async throws {
        for (number, effect) in try names().enumerated() {
            let answer = try await admin.ask("attempts", ["effect": effect])
            if !json, number > 0 { printData("") }
            printData(json ? JSONTranscoder.text(of: answer) : AttemptsText.lines(of: answer))
        }
    }

    /// Nil asks for all, which stores of every build understand.
    private var filter: MessagePackValue {
        var filter: MessagePackValue = [:]
        filter["queue"] = queue.map { .string($0) }
        filter["label"] = label.map { .string($0) }
        filter["olderThan"] = olderThan.map { .int(Int64($0.duration / .milliseconds(1))) }
        filter["limit"] = limit.map { .int(Int64($0)) }
        return filter == [:] ? .nil : filter
    }

    private func text(of answer: MessagePackValue) -> String {
        let shared = ["effect", "queue", "label", "ordered", "attempts"]
        let more = payload ? ["payload"] : []
        let open = shared + ["status", "waitsFor", "nextAttempt", "worker"] + more
        let tables = [("open", open), ("dead", shared + more + ["failure"])].compactMap { kind, columns -> String? in
            guard case .array(let effects)? = answer[kind], let count = answer[kind + "Count"] else { return nil }
            let rest = effects.isEmpty ? "" : "\n" + TextTable.lines(of: effects, columns).joined(separator: "\n")
            return "\(count.plainText) \(kind)\(rest)"
        }
        return tables.joined(separator: "\n\n")
    }

    /// As the store names them, so that its answers tell which are left.
    private func names() throws -> [MessagePackValue] {
        try effects.map { text in
            guard let effect = EffectID(named: text) else {
                let name = escapeForTerminal(text)
                throw CommandFailure(.badData, "“\(name)” is not an effect; name it as turn/ordinal, as `effects` lists them")
            }
            return .string("\(effect)")
        }
    }

    /// The store does so many at once as fit a batch of its journal. What is done stands, and is told, whatever becomes of the
    /// rest.
    private func change(_ admin: AdminClient) async throws {
        let verb = requeue ? "requeue" : "drop"
        let what = requeue ? "requeued" : "dropped"
        var names: [MessagePackValue] = []
        var known: Set<MessagePackValue> = []
        var left = try self.names()
        var dead = 0
        do {
            while true {
                let answer = try await admin.ask(verb, all ? ["all": true] : ["effects": .array(left)])
                guard case .array(let done)? = answer[what] else {
                    throw CommandFailure(.internal, "the store's answer cannot be read: \(answer)")
                }
                let new = done.filter { known.insert($0).inserted }
                names += new
                if !json { for case .string(let name) in new { printData("\(what) \(name)") } }
                // What is named twice is done once.
                left.removeAll { done.contains($0) }
                if all, new.count < done.count {
                    // The oldest come first, so these would come again for ever.
                    throw CommandFailure(.tryLater, "effects that were \(what) are dead again; `effects --dead` lists what is left")
                }
                if case .int(let count)? = answer["dead"] { dead = Int(count) }
                if done.isEmpty || (all ? answer["dead"] == .int(0) : left.isEmpty) { break }
            }
        } catch {
            if json, !names.isEmpty { printData(JSONTranscoder.text(of: [.string(what): .array(names)])) }
            throw error
        }
        if json { return printData(JSONTranscoder.text(of: [.string(what): .array(names)])) }
        if all, requeue, dead > 0 {
            let what = "of sources that the program does not want any more"
            printError("\(counted(dead, "effect")) \(what): dead, and only to be dropped")
        } else if names.isEmpty {
            printError("no effect is dead")
        }
    }
}
