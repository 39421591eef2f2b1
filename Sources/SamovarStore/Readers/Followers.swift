import SamovarCore
import SamovarWire

/// Who reads the journal of a store that nobody else can read, and who of them follows it.
///
/// The idea: the questions are the sign of life. While one comes that tells what the asker has compared, the store writes digests; nobody signs
/// on or off, so that a follower that dies leaves nothing behind.
///
/// | state | asked, for the first time | asked again | `answered` | time |
/// |---|---|---|---|---|
/// | some questions are with the host | with the host, if there is something to read; refused beyond `limit` | answered where it was asked last | the oldest is answered | – |
/// | somebody follows | likewise, and for so long again if it compares | the same | – | nobody follows, `followedFor` after the last question that compares |
struct Followers {
    struct Newest: Equatable {
        /// The newest turn that the follower has.
        let turn: Int
        /// The newest digest that it has compared with.
        let compared: Int
        let heard: Timestamp
    }

    /// What is done with a question.
    enum Step: Equatable {
        case answer(HistoryReply.Content)
        /// The host reads.
        case read(after: Int?)
        /// It reads that already.
        case wait
    }

    private struct Pending {
        let id: Int
        let after: Int?
        var route: Route
    }

    /// How many questions may be with the host: each answer takes memory.
    static let limit = 8

    /// In the order in which the host answers.
    private var pending: [Pending] = []
    /// Nil if nobody follows.
    private(set) var newest: Newest?

    mutating func asked(
        _ question: HistoryRequest, _ id: Int, from route: Route, of timeline: Timeline, durable: Int, now: Timestamp
    ) throws(AdminRefusal) -> Step {
        if let place = question.after {
            guard place.timeline == timeline else { return .answer(.anew(.timeline)) }
            guard place.turn <= durable else { return .answer(.anew(.ahead)) }
        }
        let after = question.after?.turn
        if let compared = question.compared { newest = Newest(turn: after ?? 0, compared: compared, heard: now) }
        if after == durable { return .answer(.batches([])) }
        if let index = pending.firstIndex(where: { $0.id == id && $0.after == after }) {
            pending[index].route = route
            return .wait
        }
        guard pending.count < Self.limit else {
            throw AdminRefusal(text: "\(Self.limit) questions about the journal wait for their answer: ask again")
        }
        pending.append(Pending(id: id, after: after, route: route))
        return .read(after: after)
    }

    /// Who waits for what the host has read.
    mutating func answered() -> (id: Int, route: Route)? {
        guard !pending.isEmpty else { return nil }
        let first = pending.removeFirst()
        return (first.id, first.route)
    }

    mutating func expire(after time: Duration, now: Timestamp) {
        if let newest, now - newest.heard > time { self.newest = nil }
    }
}

extension StoreMachine {
    /// Whether somebody may follow the journal.
    var isFollowed: Bool { out.identity.isFenced || followers.newest != nil }

    mutating func tellHistory(_ request: AdminRequest, from route: Route, by identity: Identity, now: Timestamp) {
        do throws(AdminRefusal) {
            try request.requireKnownArguments()
            guard identity == .local, !route.isRemote else {
                throw AdminRefusal(
                    text: "history tells the secret of the timeline, and is for the user of the store alone, on its machine")
            }
            guard !out.identity.isFenced else {
                throw AdminRefusal(
                    text: "several stores reach this journal, and so does who wants to read it: name it with --journal")
            }
            let question = try HistoryRequest(request.arguments)
            let step = try followers.asked(
                question, request.id, from: route, of: out.identity.timeline, durable: durable, now: now)
            switch step {
            case .answer(let content): tell(content, request.id, route)
            case .read(let after): out.emit(.readHistory(after: after, through: durable), floor: .none)
            case .wait: break
            }
        } catch {
            out.send(.reply(AdminReply(id: request.id, refusal: error.text)), to: route, floor: .none)
        }
    }

    /// The host has read what was asked for.
    public mutating func historyRead(_ answer: HistoryReply.Content) {
        guard isRunning, let (id, route) = followers.answered() else { return }
        tell(answer, id, route)
    }

    /// It tells of nothing but turns on disk, and so need not wait behind what tells of later ones.
    private mutating func tell(_ content: HistoryReply.Content, _ id: Int, _ route: Route) {
        let reply = HistoryReply(timeline: out.identity.timeline, build: out.identity.build, head: durable, content)
        out.send(.reply(AdminReply(id: id, value: reply.value)), to: route, floor: .none)
    }
}
