import Foundation
import MessagePack
import ProcessSupport
import SamovarCore
import SamovarHost
import SamovarWire
import Synchronization
import Testing
import ZeroMQ

/// What an operator is told whose request had to be asked again.
@Suite struct AdminClientTests {
    @Test func `A refusal of what was asked before without an answer says that it may have been done`() async throws {
        let (refusal, ids) = try await refusal(afterSilent: 1)
        #expect(refusal == "no (asked again, for the first time was not answered: that may have done it)")
        #expect(ids.count == 2 && Set(ids).count == 1, "the store knows it by its number")
    }

    @Test func `A refusal of what was asked once is told as it is`() async throws {
        let (refusal, ids) = try await refusal(afterSilent: 0)
        #expect(refusal == "no")
        #expect(ids.count == 1)
    }

    /// What is told if a store takes so many requests in silence and refuses the next; and the numbers of all of them.
    private func refusal(afterSilent silent: Int) async throws -> (String?, [Int]) {
        let scratch = try Scratch()
        let store = RefusingStore(at: .local(folder: scratch.path), silent: silent)
        // A thread and no task, which would wait for its turn behind those of other tests.
        Thread { store.run() }.start()
        let error = await #expect(throws: AdminError.self) {
            try await AdminClient(at: StoreAccess([store.endpoint])).ask("requeue", ["effects": ["3/0"]], patience: .seconds(20))
        }
        store.end()
        return (error?.description, store.requests)
    }
}

private final class RefusingStore: Sendable {
    let endpoint: Endpoint
    private let silent: Int
    private let state = Mutex<(ids: [Int], isEnding: Bool)>(([], false))

    init(at endpoint: Endpoint, silent: Int) {
        self.endpoint = endpoint
        self.silent = silent
    }

    var requests: [Int] { state.withLock(\.ids) }

    func end() { state.withLock { $0.isEnding = true } }

    func run() {
        do { try serve() } catch { Issue.record(error) }
    }

    private func serve() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .admin)
        try router.bind(endpoint.admin)
        var poller = Poller()
        _ = poller.add(router)
        while !state.withLock(\.isEnding) {
            try poller.wait(timeoutMilliseconds: 20)
            while let message = try router.receive() {
                let frames = message.frames
                guard case .request(let request) = try Envelope(parts: Array(frames.dropFirst())).frame else { continue }
                let count = state.withLock { state in
                    state.ids.append(request.id)
                    return state.ids.count
                }
                guard count > silent else { continue }
                let reply = Envelope(.reply(AdminReply(id: request.id, refusal: "no")), timeline: .zero)
                #expect(try router.send([frames[0]] + reply.parts) == .sent)
            }
        }
    }
}
