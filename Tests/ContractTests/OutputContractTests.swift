import Foundation
import ProcessSupport
import Samovar
import SamovarCore
import SamovarHost
import Testing

@testable import ContractProgram

/// One program hears another.
@Suite(.serialized) struct OutputContractTests {
    @Test func `A connector hears what was emitted and what is, with places to go on from`() async throws {
        let cluster = try await Cluster()
        let (first, rest) = try await cluster.connected { connector in
            _ = try await connector.turn(of: .emit(count: 3))
            var first: [Heard<Int>] = []
            for try await heard in connector.outputs() {
                first.append(heard)
                if first.count == 3 { _ = try await connector.turn(of: .emit(count: 2)) }
                if first.count == 5 { break }
            }
            var rest: [Int] = []
            for try await heard in connector.outputs(after: first[1].place) {
                rest.append(heard.output)
                if rest.count == 3 { break }
            }
            return (first, rest)
        }
        #expect(first.map(\.output) == [1, 2, 3, 4, 5])
        #expect(first.map(\.place) == first.map(\.place).sorted())
        #expect(rest == [3, 4, 5])
        let place = try #require(OutputPlace(first[3].place.description))
        #expect(place == first[3].place)
    }

    @Test func `The command prints outputs after a place, and follows`() async throws {
        let cluster = try await Cluster()
        try await cluster.connected { _ = try await $0.turn(of: .emit(count: 3)) }
        let all = try await cluster.run("outputs")
        #expect(all.end == .exited(0), "\(all.errors)")
        let lines = all.output.split(separator: "\n")
        #expect(lines.count == 3 && lines.last?.contains(#""output":3"#) == true, "\(all.output)")
        let place = try #require(try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])["place"] as? String
        let follower = try cluster.start(["outputs", "--follow", "--after", try #require(place)])
        try await cluster.connected { _ = try await $0.turn(of: .emit(count: 1)) }
        try await eventually("the last comes too") { follower.output.split(separator: "\n").count == 3 }
        #expect(follower.output.contains(#""output":4"#) && !follower.output.contains(#""output":1}"#))
        follower.send(SIGINT)
        let wrong = try await cluster.run("outputs", "--after", "nowhere")
        #expect(wrong.end == .exited(64))
        #expect(wrong.errors.contains("--after nowhere is no place of an output"), "\(wrong.errors)")
    }

    @Test func `Another journal is no continuation: a listener with a place of before is told`() async throws {
        let scratch = try Scratch()
        let old = try await Cluster("a", in: scratch)
        let place = try await old.connected { connector in
            _ = try await connector.turn(of: .emit(count: 1))
            for try await heard in connector.outputs() { return heard.place }
            throw TimedOut("no output")
        }
        let other = try await Cluster("b", in: scratch)
        let gap = try await other.connected { connector in
            _ = try await connector.turn(of: .emit(count: 1))
            do {
                for try await _ in connector.outputs(after: place) { return "an output" }
                return "nothing"
            } catch let gap as OutputGap {
                for try await heard in connector.outputs(after: gap.next) { return "\(gap.reason) and then \(heard.output)" }
                return "\(gap.reason)"
            }
        }
        #expect(gap == "otherTimeline and then 1")
    }

    @Test func `A program that listens hears each output of another exactly once, though every process is killed`() async throws {
        let scratch = try Scratch()
        let speaker = try await Cluster("speaker", in: scratch)
        let listener = try await Cluster("listener", in: scratch)
        var worker = try listener.startWorker()
        try await listener.connected { [address = speaker.address] in _ = try await $0.turn(of: .listen(to: address)) }
        for round in 1...4 {
            try await speaker.connected { connector in
                for _ in 0..<10 { _ = try await connector.turn(of: .emit(count: 5)) }
            }
            switch round {
            case 1:
                try await listener.eventuallyView("some are heard") { !$0.streamed.isEmpty }
                // It is a worker of one store and a client of another. Each context of libzmq has one thread of this name.
                #expect(ProcessTable.threads(of: worker.id).count { $0.hasPrefix("ZMQbg/Reaper") } == 1)
                worker.send(SIGKILL)
                try await worker.wait()
                worker = try listener.startWorker()
            case 2:
                try await listener.killStore()
                try await listener.startStore()
            case 3:
                try await speaker.killStore()
                try await speaker.startStore()
            default: break
            }
        }
        let heard = try await listener.eventuallyView("all are heard") { $0.streamed.count >= 200 }.streamed
        #expect(heard == Array(1...200))
        try await listener.connected { _ = try await $0.turn(of: .listen(to: nil)) }
        let effects = try await listener.run("effects", "--json")
        #expect(effects.output.contains(#""openCount":0"#), "\(effects.output)")
    }

    @Test func `A worker that ends in order gives a source back that has heard nothing, and that is no failure`() async throws {
        let scratch = try Scratch()
        let speaker = try await Cluster("speaker", in: scratch)
        let listener = try await Cluster("listener", in: scratch)
        let worker = try listener.startWorker()
        try await listener.connected { [address = speaker.address] in _ = try await $0.turn(of: .listen(to: address)) }
        // The thread of the handler's connector, which is told of a shutdown by then.
        try await eventually("it listens") { ProcessTable.threads(of: worker.id).contains("samovar-client") }
        worker.send(SIGTERM)
        try await worker.wait()
        let effects = try await listener.run("effects", "--json")
        #expect(effects.output.contains(#""failures":0"#), "\(effects.output)")
    }
}
