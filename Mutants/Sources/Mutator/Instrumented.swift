/// A source in which changes wait for their numbers.
public struct Instrumented: Sendable {
    public let text: String
    /// Where the changed places are now, in bytes, by number.
    private let places: [(number: Int, range: Range<Int>)]
    private let functions: [(number: Int, lines: ClosedRange<Int>)]

    /// Every insertion is within a line, so that lines keep their numbers: that of the module that tells which number is asked for, too.
    public init(_ source: String, _ mutants: [(number: Int, mutant: Mutant)]) {
        var edits: [Edit] = []
        for (number, mutant) in mutants {
            let (opening, closing) = mutant.form.brackets(number)
            edits.append(Edit(at: mutant.range.lowerBound..<mutant.range.lowerBound, opening, .opening, mutant.range, number))
            edits.append(Edit(at: mutant.range.upperBound..<mutant.range.upperBound, closing, .closing, mutant.range, number))
            if case .operands(_, let gap) = mutant.form { edits.append(Edit(at: gap, ", ", .inside, mutant.range, number)) }
        }
        edits.sort(by: <)
        let bytes = Array(source.utf8)
        var result = Array("public import Chosen; ".utf8)
        var starts: [Int: Int] = [:]
        var places: [(Int, Range<Int>)] = []
        var position = 0
        for edit in edits {
            result += bytes[position..<edit.at.lowerBound]
            if edit.kind == .opening { starts[edit.number] = result.count }
            // What separated the operands may hold the end of a line.
            let breaks = bytes[edit.at].filter { $0 == UInt8(ascii: "\n") }
            result += edit.text.utf8 + breaks
            if edit.kind == .closing, let start = starts[edit.number] { places.append((edit.number, start..<result.count)) }
            position = edit.at.upperBound
        }
        result += bytes[position...]
        text = String(decoding: result, as: UTF8.self)
        self.places = places
        functions = mutants.map { ($0.number, $0.mutant.functionLines) }
    }

    /// The changes of which an error at this place comes: the innermost one around it, else all of the same function.
    public func suspects(line: Int, column: Int) -> [Int] {
        var offset = 0
        for next in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).prefix(line - 1) {
            offset += next.count + 1
        }
        offset += column - 1
        let around = places.filter { $0.range.contains(offset) }
        if let innermost = around.min(by: { $0.range.count < $1.range.count }) { return [innermost.number] }
        return functions.filter { $0.lines.contains(line) }.map(\.number)
    }
}

extension Form {
    func brackets(_ number: Int) -> (String, String) {
        switch self {
        case .removed: ("if !mutant(\(number)) { ", " }")
        case .argument(let label), .operands(let label, _): ("mutant(\(number), \(label): ", ")")
        case .alternative(let text): ("(mutant(\(number)) ? \(text) : (", "))")
        }
    }
}

private struct Edit: Comparable {
    enum Kind: Int { case closing, inside, opening }

    let at: Range<Int>
    let text: String
    let kind: Kind
    let whole: Range<Int>
    let number: Int

    init(at: Range<Int>, _ text: String, _ kind: Kind, _ whole: Range<Int>, _ number: Int) {
        self.at = at
        self.text = text
        self.kind = kind
        self.whole = whole
        self.number = number
    }

    /// Of two changes of one place, the outer one opens first and closes last; of equal ones, that with the larger number is inside.
    static func < (left: Edit, right: Edit) -> Bool {
        if left.at.lowerBound != right.at.lowerBound { return left.at.lowerBound < right.at.lowerBound }
        if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue }
        let isLarger = left.whole.count != right.whole.count ? left.whole.count > right.whole.count : left.number < right.number
        return left.kind == .opening ? isLarger : !isLarger
    }
}
