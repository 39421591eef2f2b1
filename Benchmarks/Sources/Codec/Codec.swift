import CountedAllocations
import MessagePack

/// What it costs to encode and decode a value with the codecs an engine has: canonical one way, lenient the other.
///
/// Prints one line per figure: a name and a number, in nanoseconds of the thread's processor time.
@main
struct Codec {
    /// `ROUNDS` would be read from the environment if this had Foundation; as an argument it needs none.
    static let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 15
    static let values = 20_000

    static func main() throws {
        let entry = Plain.Entry(number: 42, text: "seven and more")
        try measure("plain_struct", entry)
        try measure("plain_enum", Plain.Message.answer(number: 42))
        try measure("plain_enum_nested", Plain.Message.renamed(entry, at: 3))
        let report = Plain.Report(
            title: "A report", isDone: true, share: 0.5, entries: [entry, entry, entry], counts: ["a": 1, "b": 2], last: .reset)
        try measure("plain_report", report)

        let packed = Packable.Entry(number: 42, text: "seven and more")
        try measure("packable_struct", packed)
        try measure("packable_enum", Packable.Message.answer(number: 42_000))
        let list = Packable.Report(
            title: "A report", share: 0.5, digest: Array(0..<32), entries: Array(repeating: packed, count: 10))
        try measure("packable_report", list)
    }

    @inline(never)
    static func measure<Value: Codable & Equatable>(_ name: String, _ value: Value) throws {
        let codec = ValueCodec<Value>(MessagePackEncoder(canonical: true), MessagePackDecoder(lenient: true))
        let bytes = try codec.encode(value)
        let decoded = try codec.decode(bytes)
        precondition(decoded == value, "\(name) did not survive")
        var encoding: [Double] = []
        var decoding: [Double] = []
        var sum = 0
        for _ in 0..<rounds {
            encoding.append(
                try nanoseconds {
                    for _ in 0..<values { sum &+= try codec.encode(value).count }
                })
            decoding.append(
                try nanoseconds {
                    for _ in 0..<values { try keep(codec.decode(bytes)) }
                })
        }
        precondition(sum == rounds * values * bytes.count, "not every value was encoded")
        report("\(name)_encode_ns", median(encoding))
        report("\(name)_decode_ns", median(decoding))
        print("\(name)_encode_allocations \(try allocations { sum &+= try codec.encode(value).count })")
        print("\(name)_decode_allocations \(try allocations { try keep(codec.decode(bytes)) })")
    }

    /// Takes a value that the optimiser must then make.
    @inline(never)
    static func keep<Value>(_ value: Value) {}

    static func allocations(_ body: () throws -> Void) throws -> Int {
        let before = samovar_allocations()
        for _ in 0..<100 { try body() }
        return (samovar_allocations() - before) / 100
    }

    static func nanoseconds(_ body: () throws -> Void) throws -> Double {
        let start = samovar_processor_time()
        try body()
        return Double(samovar_processor_time() - start) / Double(values)
    }

    static func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }

    static func report(_ name: String, _ figure: Double) {
        print("\(name) \(Double(Int(figure * 10)) / 10)")
    }
}
