import SamovarCore
import SamovarTesting
import Testing

@testable import UptimeExample

@Suite struct UptimeTests {
    private let url = "https://swift.org"

    private func store(_ sites: [String] = ["https://swift.org"]) throws -> TestStore<Uptime> {
        try TestStore(Uptime.self, seed: Uptime.Seed(sites: sites, everySeconds: 60))
    }

    private func site(isUp: Bool?, _ answer: String, since: Timestamp?) -> Uptime.Site {
        Uptime.Site(url: url, isUp: isUp, answer: answer, since: since)
    }

    @Test func `That a site is up at first is no news, that it goes down and comes back is`() throws {
        let store = try store()
        let start = store.now
        store.complete(.probe(url: url), with: .probed(url: url, isUp: true, answer: "200 in 5 ms")) {
            $0.sites = [site(isUp: true, "200 in 5 ms", since: start)]
        }
        store.advance(by: .seconds(60))
        store.fail(.probe(url: url), .threw, "answered 503") {
            $0.sites = [site(isUp: false, "failed after 1 attempt: answered 503", since: start + .seconds(60))]
        }
        store.expectEffects([.alert(text: "\(url) is down")])
        store.complete(.alert(text: "\(url) is down"))
        store.advance(by: .seconds(60))
        store.fail(.probe(url: url), .threw, "answered 500") {
            $0.sites = [site(isUp: false, "failed after 1 attempt: answered 500", since: start + .seconds(60))]
        }
        store.expectEffects([])
        store.advance(by: .seconds(60))
        store.complete(.probe(url: url), with: .probed(url: url, isUp: true, answer: "200 in 6 ms")) {
            $0.sites = [site(isUp: true, "200 in 6 ms", since: start + .seconds(180))]
        }
        store.complete(.alert(text: "\(url) is up"))
        store.finish()
    }

    @Test func `A site has three attempts of ten seconds, and meanwhile no other probe is begun`() throws {
        // Not every change is compared: the pauses before attempts vary, and so does the time from which it is down.
        let store = try TestStore(Uptime.self, seed: Uptime.Seed(sites: [url], everySeconds: 60), exhaustive: false)
        store.failAttempt(.probe(url: url), "refused")
        store.advance(by: .seconds(1))
        store.send(.check)
        store.expectEffects([.probe(url: url)])
        store.failAttempt(.probe(url: url), "refused")
        store.advance(by: .seconds(1))
        // A worker that keeps it is given two seconds of grace.
        store.advance(by: .seconds(12)) {
            $0.sites = [site(isUp: false, "timed out after 3 attempts: no answer within its timeout", since: nil)]
        }
        store.expectEffects([.alert(text: "\(url) is down")])
        store.complete(.alert(text: "\(url) is down"))
        store.finish()
    }

    @Test func `An alert that nobody takes waits for an operator`() throws {
        let store = try store()
        let start = store.now
        store.fail(.probe(url: url)) { $0.sites = [site(isUp: false, "failed after 1 attempt", since: start)] }
        store.fail(.alert(text: "\(url) is down"))
        store.expectDeadEffects([.alert(text: "\(url) is down")])
        store.finish()
    }

    @Test func `The timer is there while somebody wants it`() throws {
        let store = try store([])
        store.expectSubscriptions([])
        store.send(.add(url: url)) { $0.sites = [site(isUp: nil, "", since: nil)] }
        let timer: [Subscription<Uptime>] = [.every(.seconds(60), id: "check", send: .ticked)]
        store.expectSubscriptions(timer)
        store.send(.pause(on: true)) { $0.isPaused = true }
        store.expectSubscriptions([])
        store.send(.pause(on: false)) { $0.isPaused = false }
        store.expectSubscriptions(timer)
        store.send(.remove(url: url)) { $0.sites = [] }
        store.expectSubscriptions([])
        // The probe of a site that is gone is cancelled.
        store.expectEffects([])
        store.finish()
    }

    @Test func `What is no site is refused`() throws {
        let store = try store([])
        store.expectRefusal(of: .add(url: "file:///etc/passwd"), .notHTTP)
        store.expectRefusal(of: .remove(url: url), .unknown)
        store.send(.add(url: url)) { $0.sites = [site(isUp: nil, "", since: nil)] }
        store.expectRefusal(of: .add(url: url), .known)
        store.complete(.probe(url: url), with: .probed(url: url, isUp: true, answer: "")) {
            $0.sites = [site(isUp: true, "", since: store.now)]
        }
        #expect(throws: (any Error).self) { try self.store([url, url]) }
        #expect(throws: (any Error).self) { try self.store(["swift.org"]) }
        store.finish()
    }
}
