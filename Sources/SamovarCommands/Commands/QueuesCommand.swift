import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText

struct QueuesCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "queues", abstract: "Lists queues; pauses and resumes them, and sets their rules.",
            discussion: """
                Example: \(executableName) queues
                         \(executableName) queues --pause --queue mail
                         \(executableName) queues --resume --label "endpoint 7"
                         \(executableName) queues --rule --queue http --rate 100 --per 1s --burst 20 --share gold=4
                         \(executableName) queues --rule --queue http
                While a queue or a label is paused, nothing of it is handed out; jobs that run go on. --rule sets the rules of a queue in
                place of the former ones, and without any takes them away. All of it is in the journal and holds over restarts; the program
                is told.
                """)
    }

    @OptionGroup var options: PeerOptions
    @Flag(name: .long, help: "One line of JSON.") var json = false
    @Flag(name: .long, help: "Hand out nothing there until it is resumed.") var pause = false
    @Flag(name: .long, help: "Hand out effects there again.") var resume = false
    @Flag(name: .long, help: "Set the rules of a queue.") var rule = false
    @Option(name: .long, help: "The queue that is meant.") var queue: String?
    @Option(name: .long, help: "The label that is meant, in whichever queue.") var label: String?
    @Option(name: .long, help: "Hand out at most so many attempts in each interval, over all workers.") var rate: Int?
    @Option(name: .long, help: "The interval of --rate, at most 24h; by default a second.") var per: Seconds?
    @Option(name: .long, help: "How many may be handed out at once after a pause; by default as many as --rate.") var burst: Int?
    @Option(name: .long, help: "LABEL=WEIGHT: take what waits from labels in turn, this one so many times as often. Repeatable.")
    var share: [Share] = []
    @Option(name: .long, help: "The weight of labels without a --share; by default 1.") var others: Int?

    /// A label and its weight.
    struct Share: ExpressibleByArgument {
        let label: String
        let weight: Int64

        init?(argument: String) {
            guard let place = argument.lastIndex(of: "="), let weight = Int64(argument[argument.index(after: place)...]) else {
                return nil
            }
            label = String(argument[..<place])
            self.weight = weight
        }
    }

    private var hasRules: Bool { rate != nil || !share.isEmpty || others != nil }

    func validate() throws {
        guard [pause, resume, rule].count(where: \.self) <= 1 else {
            throw ValidationError("--pause, --resume and --rule exclude each other")
        }
        if pause || resume, (queue == nil) == (label == nil) { throw ValidationError("name either a --queue or a --label") }
        if queue == "" { throw ValidationError("--queue is empty: give the name of a queue") }
        if rule, queue == nil || label != nil { throw ValidationError("--rule is for a --queue") }
        if !(pause || resume || rule), queue != nil || label != nil {
            throw ValidationError("what shall be done there? say --pause, --resume or --rule")
        }
        if !rule, hasRules { throw ValidationError("--rate, --share and --others are for --rule") }
        if let rate, rate < 1 { throw ValidationError("--rate \(rate) is no number of attempts: at least 1") }
        if let burst, burst < 1 { throw ValidationError("--burst \(burst) is no number of attempts: at least 1") }
        if let per {
            try per.requirePositive("--per")
            guard per.duration <= .milliseconds(QueueRules.Rate.longestInterval) else {
                throw ValidationError("--per \(per) is too long: at most 24h")
            }
        }
        if rate == nil, per != nil || burst != nil { throw ValidationError("--per and --burst are for --rate") }
    }

    func run() async throws {
        let admin = try options.admin(for: Types.self)
        let done = try await change(admin)
        do {
            let status = try await admin.ask("status")
            guard status["queues"] != nil else {
                throw CommandFailure(
                    .tryLater, "while its phase is “\(status["phase"]?.plainText ?? "")” a store tells nothing of its queues")
            }
            printData(json ? Self.line(of: status) : StatusText.queues(of: status))
        } catch {
            // The change stands, and its answer tells what is paused and which rules there are.
            if json, let done { printData(Self.line(of: done)) }
            throw error
        }
    }

    private static func line(of answer: MessagePackValue) -> String {
        var shown: MessagePackValue = [:]
        for key in ["queues", "paused", "rules"] { shown[key] = answer[key] }
        return JSONTranscoder.text(of: shown)
    }

    /// - Returns: the store's answer; nil if nothing is to be changed.
    private func change(_ admin: AdminClient) async throws -> MessagePackValue? {
        if pause || resume {
            let reply = try await admin.ask(pause ? "pause" : "resume", place)
            let name = queue.map { "queue \($0)" } ?? "label “\(label ?? "")”"
            // A name that was mistyped is one that nobody had paused.
            let isNew = reply["changed"] != false
            let text =
                switch (pause, isNew) {
                case (true, true): "paused \(name)"
                case (true, false): "\(name) was paused already"
                case (false, true): "resumed \(name)"
                case (false, false): "\(name) was not paused"
                }
            if !isNew || !json { printError(text) }
            return reply
        }
        guard rule else { return nil }
        let reply = try await admin.ask("rule", rules)
        if !json { printError(hasRules ? "queue \(queue ?? "") has new rules" : "queue \(queue ?? "") has no rules any more") }
        return reply
    }

    private var place: MessagePackValue {
        queue.map { ["queue": .string($0)] } ?? ["label": .string(label ?? "")]
    }

    private var rules: MessagePackValue {
        var rules: MessagePackValue = ["queue": .string(queue ?? "")]
        rules["rate"] = rate.map { .int(Int64($0)) }
        rules["milliseconds"] = per.map { .int(Int64($0.duration / .milliseconds(1))) }
        rules["burst"] = burst.map { .int(Int64($0)) }
        rules["others"] = others.map { .int(Int64($0)) }
        if !share.isEmpty { rules["shares"] = .map(share.map { MessagePackPair(.string($0.label), .int($0.weight)) }) }
        return rules
    }
}
