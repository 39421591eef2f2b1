import MessagePack
public import SamovarCore
import SamovarStore

extension Program {
    /// Whether an expression, as `bisect` and `capsule` take it, is true of a state: `try Tally.isTrue("state.counts.tea < 0", of: state)`.
    ///
    /// - Throws: an error that points at what is wrong in the text; what encoding throws.
    public static func isTrue(_ expression: String, of state: State) throws -> Bool {
        try Predicate(parsing: expression).holds(of: state, in: Self.self)
    }
}

extension Predicate {
    /// Whether it is true of a state, and of the view of that.
    package func holds<P: Program>(of state: P.State, in program: P.Type) throws -> Bool {
        // As a past has them.
        let encoder = MessagePackEncoder(recording: .state)
        let bytes = usesState ? try encoder.encode(state) : []
        let view = usesView ? try encoder.encode(P.view(state)) : []
        return try holds { path in try path.find(in: path.root == .state ? bytes : view) }
    }
}
