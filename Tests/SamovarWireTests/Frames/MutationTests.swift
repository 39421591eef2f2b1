import MachineSupport
import SamovarCore
import Testing

@testable import SamovarWire
@Suite struct MutationTests {
    /// Whatever is changed in a frame, it is read or refused, and what is read can be written and read again.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `No mutation traps`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        var read = 0
        for _ in 0..<25_000 {
            let example = FrameExample.all.randomElement(using: &random)
            var parts = try #require(example).envelope.parts
            for _ in 0...Int.random(in: 0...3, using: &random) { mutate(&parts, &random) }
            guard let envelope = attempt(parts) else { continue }
            read += 1
            guard try Envelope(parts: envelope.parts) != envelope else { continue }
            Issue.record("seed \(seed): \(envelope) is not read as it was written")
        }
        #expect(read > 1_000, "the mutations of seed \(seed) are too coarse to reach the readers")
    }

    private func attempt(_ parts: [[UInt8]]) -> Envelope? {
        do {
            return try Envelope(parts: parts)
        } catch {
            return nil
        }
    }

    private func mutate(_ parts: inout [[UInt8]], _ random: inout Random) {
        // Mostly the body: a changed header is nearly always refused at once.
        let part = parts.count > 1 && Int.random(in: 0..<8, using: &random) > 0 ? 1 : 0
        guard !parts[part].isEmpty else { return }
        let index = Int.random(in: 0..<parts[part].count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: parts[part][index] = UInt8.random(in: 0...255, using: &random)
        case 1: parts[part][index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: parts[part].remove(at: index)
        case 3: parts[part].insert(UInt8.random(in: 0...255, using: &random), at: index)
        case 4: parts[part].removeSubrange(index...)
        default: parts[part] += parts[part][index...]
        }
    }
}
