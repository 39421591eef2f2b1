/// In which way a place is changed.
public enum Change: String, CaseIterable, Sendable {
    case statementRemoved = "statement removed"
    case conditionNegated = "condition negated"
    /// An operand of `&&`, a condition of several, that of a `guard` or a `where`: as if it were not there.
    case conditionDropped = "condition dropped"
    case boundMoved = "bound moved"
    case literalMoved = "literal moved"
    case floorWeakened = "floor weakened"
}

/// How a changed place is written, so that the change waits for its number.
enum Form: Sendable, Equatable {
    case removed
    /// The expression becomes the last argument of a call with this label.
    case argument(String)
    /// Both operands become arguments; the range is that of the operator with the space around it.
    case operands(String, operator: Range<Int>)
    /// Another expression takes its place.
    case alternative(String)
}

/// A place where the sources can be changed, and the change.
public struct Mutant: Sendable, Equatable {
    /// Below `Sources`.
    public let file: String
    public let line: Int
    /// The function with its type.
    public let function: String
    public let change: Change
    /// The code that is changed, in one line.
    public let original: String
    /// Which one it is, from 1 on, of those in this function that look the same.
    public internal(set) var occurrence = 1
    /// In bytes.
    let range: Range<Int>
    let form: Form
    /// Lines of the whole function.
    let functionLines: ClosedRange<Int>

    /// What stays the same when other code changes.
    public struct Key: Hashable, Sendable {
        public var file: String
        public var function: String
        public var change: String
        public var original: String
        public var occurrence: Int

        public init(file: String, function: String, change: String, original: String, occurrence: Int) {
            self.file = file
            self.function = function
            self.change = change
            self.original = original
            self.occurrence = occurrence
        }
    }

    public var key: Key {
        Key(file: file, function: function, change: change.rawValue, original: original, occurrence: occurrence)
    }
}
