import Foundation

/// What `make chaos` sets; without it, tests take their short form.
enum ChaosSettings {
    private static let environment = ProcessInfo.processInfo.environment

    /// Of random faults; nil in the short form.
    static let seconds = environment["SAMOVAR_CHAOS_SECONDS"].flatMap { Int($0) }
    static let seed = environment["SAMOVAR_CHAOS_SEED"].flatMap { UInt64($0) }
    static var isLong: Bool { seconds != nil }
}
