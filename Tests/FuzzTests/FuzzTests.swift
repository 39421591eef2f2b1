import Foundation
import FuzzSubjects
import ProcessSupport
import Testing

/// Every decoder, with what was found before and with seeded mutations of it.
@Suite(.serialized) struct FuzzTests {
    /// Another one tries other bytes.
    private static let seed: UInt64 = 1
    private static let rounds = 4_000

    @Test(arguments: FuzzSubject.all)
    func `Examples are read`(_ subject: FuzzSubject) throws {
        for example in try subject.examples() {
            let isRead = try subject.read(example)
            // A batch that says it has no records has bytes after its end.
            #expect(isRead || (subject.name == "records" && example.first == 0), "\(hex(example))")
        }
    }

    @Test(arguments: FuzzSubject.all)
    func `What was found once is read or refused`(_ subject: FuzzSubject) throws {
        let corpus = try subject.corpus()
        #expect(!corpus.isEmpty)
        for bytes in corpus {
            do { _ = try subject.read(bytes) } catch { Issue.record("\(error)\n\(hex(bytes))") }
        }
    }

    @Test(arguments: FuzzSubject.all)
    func `No mutation breaks a decoder`(_ subject: FuzzSubject) throws {
        let examples = try subject.examples()
        let corpus = try subject.corpus()
        var mutator = Mutator(random: SeededRandom(seed: Self.seed), isText: subject.isText)
        var read = 0
        for round in 0..<Self.rounds {
            // Most of the corpus is not well-formed, and its mutations even less.
            let whole = round.isMultiple(of: 2) ? examples : corpus
            let bytes = mutator.mutated(whole[round / 2 % whole.count], or: corpus)
            do {
                if try subject.read(bytes) { read += 1 }
            } catch {
                Issue.record("seed \(Self.seed), round \(round) of \(subject): \(error)\n\(hex(bytes))")
                return
            }
        }
        #expect(read > Self.rounds / 500, "the mutations are too coarse to reach beyond the first error")
        #expect(read < Self.rounds * 9 / 10, "the mutations are too fine to be refused")
    }

    /// A few bytes may announce 4 GiB; nobody may believe them.
    @Test(.enabled(if: virtualPeak() != nil), arguments: FuzzSubject.all.filter { !$0.isText })
    func `No announced length is believed`(_ subject: FuzzSubject) throws {
        let before = virtualPeak() ?? 0
        for example in try subject.examples() {
            for index in stride(from: 0, to: example.count, by: max(1, example.count / 60)) {
                for lie in Mutator.lies.prefix(6) {
                    _ = try subject.read(Array(example[..<index]) + lie + example[index...].dropFirst())
                }
            }
        }
        // Other tests of this process take memory meanwhile, but nothing like that.
        #expect((virtualPeak() ?? 0) - before < 2 << 30)
    }
}

/// The most memory that this process ever had mapped, touched or not; nil where nobody says it.
private func virtualPeak() -> Int? {
    guard let status = FileManager.default.contents(atPath: "/proc/self/status") else { return nil }
    let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmPeak:") }
    return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 * 1_024 }
}

private func hex(_ bytes: [UInt8]) -> String {
    bytes.prefix(2_000).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
