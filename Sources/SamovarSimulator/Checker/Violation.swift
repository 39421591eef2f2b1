/// What must hold in every world, whatever goes wrong.
public enum Invariant: String, CaseIterable, Sendable {
    case i1 = "I1: what a client was told is in the journal, at that turn"
    case i2 = "I2: whatever is in the journal was sent by somebody"
    case i3 = "I3: the inputs of a session are taken once, in order, without a hole"
    case i4 = "I4: live, replayed and restored states are equal, and groups are whole"
    case i5 = "I5: nothing leaves the store that tells of a turn that is not on disk"
    case i6 = "I6: an effect that was ordered is run, and ends once"
    case i7 = "I7: views are shown in order, and are those of their turn"
    case i8 = "I8: starts, leases and times never go back"
    case i9 = "I9: when faults end, all work ends, and all see the newest view"
    case i10 = "I10: limits hold"
    case i12 = "I12: each call ends once and honestly"
    case i14 = "I14: who listens hears of each time once, and of none when nobody listens"
    case i15 = "I15: of effects with one label, those run that their policies leave"
    case i16 = "I16: what an effect streams is applied once, in order, and its next attempt goes on from there"
    case i17 = "I17: what turns have made leaves the store in their order"
    case i18 = "I18: what is dead stays so until it is ordered otherwise, and orders of operators are done once"
    case i19 = "I19: nothing leaves what is paused"
    case i20 = "I20: queues keep their rules"
    case i21 = "I21: nobody acts beyond what its key is for"
    case i22 = "I22: a key that was revoked or has expired is not heard, and hears nothing"
    case i23 = "I23: sessions and workers belong to the name of their key"
    case i24 = "I24: the journal says with which key something came"
    case i25 = "I25: a name without a key has no sessions, and one whose key is renewed loses nothing"
    case i26 = "I26: a table of keys is in force as a whole, or not at all"
    case i27 = "I27: one store at a time has the journal, the one that has taken it last, and takes it from nobody who has it"
    case i28 = "I28: what a database has lost is not passed over in silence"
    case i29 = "I29: what is said of the past is what a look at each turn says"
}

/// A promise was broken.
public struct Violation: Error, Sendable, CustomStringConvertible {
    public let invariant: Invariant
    /// Virtual microseconds since the world began.
    public let time: Int64
    public let expected: String
    public let seen: String

    public var description: String {
        """
        \(invariant.rawValue)
          at virtual second \(SamovarSimulator.describe(time))
          expected: \(expected)
          seen:     \(seen)
        """
    }
}
