import DequeModule
import SamovarCore
import SamovarWire

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
        return outputs.page(after: id, bytes: limit, at: \.id) { $0.bytes.count }
    }

    /// The same with each output in another encoding.
    func with(_ encoded: ([UInt8]) -> [UInt8]) -> OutputLog {
        var log = self
        log.restore(outputs.map { EmittedOutput(id: $0.id, bytes: encoded($0.bytes)) }, forgotten: forgotten)
        return log
    }

    mutating func restore(_ outputs: [EmittedOutput], forgotten: EffectID?) {
        self.outputs = Deque(outputs)
        self.forgotten = forgotten
        bytes = outputs.reduce(0) { $0 + $1.bytes.count }
    }
}

extension Deque {
    /// Of entries in the order of their places, those after a place, as many as fit; at least one if there is one.
    func page<Place: Comparable>(
        after place: Place, bytes limit: Int, at places: KeyPath<Element, Place>, size: (Element) -> Int
    ) -> [Element] {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle][keyPath: places] > place { high = middle } else { low = middle + 1 }
        }
        var (page, bytes): ([Element], Int) = ([], 0)
        for entry in self[low...] {
            bytes += size(entry)
            guard page.isEmpty || bytes <= limit else { break }
            page.append(entry)
        }
        return page
    }
}
