public import SamovarWire

/// What can be asked of the past of a journal, wherever that is read.
public protocol PastReader: AnyObject {
    /// Of which turns the state is known.
    var span: PastSpan { get }

    /// The turn as of which the state is; 0 before the first ``move(to:)``.
    var turn: Int { get }

    /// The version of the program that wrote the record of ``turn``; nil before the first ``move(to:)``.
    var author: Int? { get }

    /// Makes the state the one as of a turn.
    ///
    /// - Throws: also for a turn that is not known.
    func move(to turn: Int) throws

    /// Goes on from ``turn``, up to `last` or until `body` returns false, whose turn is then the present one.
    ///
    /// - Parameter body: is told of each record when the state is that after it.
    func walk(through last: Int, _ body: (Record) throws -> Bool) throws

    /// The state as of ``turn``, in MessagePack.
    func state() throws -> [UInt8]

    /// What outsiders saw of it, in MessagePack.
    func view() throws -> [UInt8]

    /// Whether the state as of ``turn`` keeps the program's invariant at this place.
    func keeps(invariant index: Int) throws -> Bool

    /// The record of a turn; nil if it is not kept, or not there yet.
    func record(of turn: Int) throws -> Record?
}
