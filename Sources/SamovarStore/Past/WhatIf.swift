public import SamovarCore
public import SamovarWire

/// What would have been: the answer of a ``WhatIfMachine``.
public struct WhatIf: Equatable, Sendable {
    /// A turn that was, and would not have been.
    public struct Lost: Equatable, Sendable {
        public let record: Record
        public let reason: Reason
    }

    public enum Reason: Equatable, Sendable {
        /// So it was asked.
        case removed
        /// The turn that it followed from does not order it, or falls away itself.
        case notOrdered(by: Int)
        /// It tells of an effect that is not ordered.
        case withoutEffect(EffectID)
        /// In the place of its effect there is another one.
        case ofAnotherEffect(EffectID)
        /// Its effect is ordered, and is not open, or not dead, when it comes: it was cancelled, or closed otherwise.
        case ofClosedEffect(EffectID)
        /// The subscription with this label is not wanted, or not due.
        case notDue(Label)
        /// What the operator did before it falls away.
        case ofRequest(Int)
    }

    /// A turn that never was, and would have been. Its number is none of the journal.
    public struct Gained: Equatable, Sendable {
        public enum Cause: Equatable, Sendable {
            case inserted(after: Int)
            case followUp(of: Int)
        }

        public let turn: Int
        public let cause: Cause
        /// Its input or its message, in MessagePack.
        public let content: [UInt8]
    }

    /// An input that would have been refused, and was not, or never came.
    public struct Refusal: Equatable, Sendable {
        public let turn: Int
        public let verdict: Outcome.Verdict
    }

    /// An effect that one of the two histories orders, and the other does not.
    public struct Order: Equatable, Sendable {
        public let id: EffectID
        /// The effect in MessagePack.
        public let payload: [UInt8]
    }

    /// What nobody knows, and is taken for true.
    public enum Assumption: Equatable, Sendable {
        /// So many inputs are applied as they were accepted: the journal does not keep inputs of this program.
        case acceptedInputs(Int)
        /// So many inputs are what the journal has, and `accept` makes other messages of them: if it did so before, they were others.
        case remadeInputs(Int)
        /// So many inputs are refused as they were: the journal does not keep inputs that are refused.
        case refusedInputs(Int)
        /// So many answers of workers, which count for the same effects, are what they were.
        case answers(Int)
        /// So many effects fail as they did.
        case failures(Int)
        /// Operators do the same so many times.
        case requests(Int)
        /// So many effects that are ordered and never were stay open: no worker has run them.
        case open(Int)
        /// A timer was due, and fires only at times at which one with its label did.
        case due(Label, Timestamp)
    }

    /// A list that is cut after ``WhatIf/listed`` elements, and counts on.
    public struct List<Element: Equatable & Sendable>: Equatable, Sendable {
        public private(set) var elements: [Element] = []
        public private(set) var count = 0

        public init() {}

        mutating func append(_ element: Element) {
            count += 1
            if elements.count < WhatIf.listed { elements.append(element) }
        }
    }

    /// Something as it was, and as it would have been, in MessagePack.
    public struct Pair: Equatable, Sendable {
        public internal(set) var was: [UInt8] = []
        public internal(set) var wouldBe: [UInt8] = []
    }

    /// So many elements of a list are told one by one.
    public static let listed = 1_000

    /// The turn after which nothing more was looked at.
    public let last: Int
    public internal(set) var lost = List<Lost>()
    public internal(set) var gained = List<Gained>()
    public internal(set) var refusals = List<Refusal>()
    /// Effects that are ordered and never were.
    public internal(set) var ordered = List<Order>()
    /// Effects that were ordered and are not.
    public internal(set) var missing = List<Order>()
    public internal(set) var assumptions: [Assumption] = []
    public internal(set) var states = Pair()
    public internal(set) var views = Pair()

    init(last: Int) { self.last = last }
}
