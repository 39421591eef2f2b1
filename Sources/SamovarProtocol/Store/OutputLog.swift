import DequeModule
import SamovarCore

/// The newest outputs of the program, for other programs that ask for all after the last one they have seen: state that the
/// journal determines.
struct OutputLog: Equatable, Sendable {
    /// Outputs that are kept.
    static let limit = 65_536
    /// Bytes of them.
    static let byteLimit = 16 << 20

    private(set) var outputs: Deque<EmittedOutput> = []
    /// The newest output that is not kept any more.
    private(set) var forgotten: EffectID?
    private var bytes = 0

    var last: EffectID? { outputs.last?.id ?? forgotten }

    mutating func append(_ output: EmittedOutput) {
        outputs.append(output)
        bytes += output.bytes.count
        while outputs.count > Self.limit || bytes > Self.byteLimit, outputs.count > 1, let first = outputs.popFirst() {
            bytes -= first.bytes.count
            forgotten = first.id
        }
    }

    /// Outputs after `id`, oldest first, as many as fit; nil if some of them are forgotten.
    func outputs(after id: EffectID, bytes limit: Int) -> [EmittedOutput]? {
        if let forgotten, id < forgotten { return nil }
        var found: [EmittedOutput] = []
        var size = 0
        for output in outputs[firstIndex(after: id)...] {
            size += output.bytes.count
            guard found.isEmpty || size <= limit else { break }
            found.append(output)
        }
        return found
    }

    private func firstIndex(after id: EffectID) -> Int {
        var low = 0
        var high = outputs.count
        while low < high {
            let middle = (low + high) / 2
            if outputs[middle].id > id { high = middle } else { low = middle + 1 }
        }
        return low
    }

    mutating func restore(_ outputs: [EmittedOutput], forgotten: EffectID?) {
        self.outputs = Deque(outputs)
        self.forgotten = forgotten
        bytes = outputs.reduce(0) { $0 + $1.bytes.count }
    }
}
