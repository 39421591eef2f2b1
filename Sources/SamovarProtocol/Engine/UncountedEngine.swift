/// Has an engine for as long as it is used uncounted.
final class EngineHolder {
    fileprivate let engine: any ProgramEngine

    init(_ engine: any ProgramEngine) {
        self.engine = engine
    }
}

/// An engine to which no reference is counted each time that it is called. Whoever has one keeps its holder.
struct UncountedEngine {
    private let holder: Unmanaged<EngineHolder>

    init(_ holder: EngineHolder) { self.holder = .passUnretained(holder) }

    @inline(__always)
    func with<Result>(_ body: (any ProgramEngine) throws -> Result) rethrows -> Result {
        try holder._withUnsafeGuaranteedRef { try body($0.engine) }
    }
}
