import SamovarCore

/// Who follows a journal that only its store can read: such a process asks for the batches on disk, again and again.
///
/// The idea: the questions are the sign of life. While they come, the store writes digests; nobody signs on or off, so that a follower that
/// dies leaves nothing behind.
///
/// | state | asked, the same | asked, another | `answered` | time |
/// |---|---|---|---|---|
/// | nothing is with the host | with the host, if there is something to read; else answered | the same | – | – |
/// | with the host | the newest asker gets the answer | refused | nothing is with the host | – |
/// | somebody follows | for so long again | the same | – | nobody follows, `followedFor` after the last question |
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
        case answer(FollowReply.Content)
        /// The host reads.
        case read(after: Int?)
        /// It reads that already.
        case wait
    }

    private struct Pending {
        let after: Int?
        var id: Int
        var route: Route
    }

    private var pending: Pending?
    /// Nil if nobody follows.
    private(set) var newest: Newest?

    mutating func asked(
        _ question: FollowRequest, _ id: Int, from route: Route, of timeline: Timeline, durable: Int, now: Timestamp
    ) throws(AdminRefusal) -> Step {
        if let place = question.after {
            guard place.timeline == timeline else { return .answer(.anew(.timeline)) }
            guard place.turn <= durable else { return .answer(.anew(.ahead)) }
        }
        newest = Newest(turn: question.after?.turn ?? 0, compared: question.compared, heard: now)
        if question.after?.turn == durable { return .answer(.batches([])) }
        let after = question.after?.turn
        guard let known = pending else {
            pending = Pending(after: after, id: id, route: route)
            return .read(after: after)
        }
        guard known.after == after else { throw AdminRefusal(text: "another follower is being answered: ask again") }
        pending = Pending(after: after, id: id, route: route)
        return .wait
    }

    /// Who waits for what the host has read.
    mutating func answered() -> (id: Int, route: Route)? {
        defer { pending = nil }
        return pending.map { ($0.id, $0.route) }
    }

    mutating func expire(after time: Duration, now: Timestamp) {
        if let newest, now - newest.heard > time { self.newest = nil }
    }
}

extension StoreMachine {
    /// Whether somebody may follow the journal.
    var isFollowed: Bool { out.identity.isFenced || followers.newest != nil }

    mutating func follow(_ request: AdminRequest, from route: Route, by identity: Identity, now: Timestamp) {
        do throws(AdminRefusal) {
            try request.requireKnownArguments()
            guard identity == .local, !route.isRemote else {
                throw AdminRefusal(
                    text: "follow tells the secret of the timeline, and is for the user of the store alone, on its machine")
            }
            guard !out.identity.isFenced else {
                throw AdminRefusal(text: "several stores reach this journal: follow it by a standby")
            }
            let question = try FollowRequest(request.arguments)
            let step = try followers.asked(
                question, request.id, from: route, of: out.identity.timeline, durable: durable, now: now)
            switch step {
            case .answer(let content): tell(content, request.id, route)
            case .read(let after): out.emit(.follow(after: after, through: durable), floor: .none)
            case .wait: break
            }
        } catch {
            out.send(.reply(AdminReply(id: request.id, refusal: error.text)), to: route, floor: .none)
        }
    }

    /// The host has looked for what a follower asks for.
    public mutating func followed(_ answer: FollowAnswer) {
        guard isRunning, let (id, route) = followers.answered() else { return }
        switch answer {
        case .beginning(let beginning): tell(.beginning(beginning, schema: schema, secret: out.identity.secret), id, route)
        case .batches(let batches): tell(.batches(batches), id, route)
        case .trimmed: tell(.anew(.trimmed), id, route)
        case .failed(let why): out.send(.reply(AdminReply(id: id, refusal: why)), to: route, floor: .none)
        }
    }

    /// It tells of nothing but turns on disk, and so need not wait behind what tells of later ones.
    private mutating func tell(_ content: FollowReply.Content, _ id: Int, _ route: Route) {
        let reply = FollowReply(timeline: out.identity.timeline, build: out.identity.build, head: durable, content)
        out.send(.reply(AdminReply(id: id, value: reply.value)), to: route, floor: .none)
    }
}
