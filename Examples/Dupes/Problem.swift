import SamovarCore

/// A file or directory that could not be read, and why. Never fatal: the search goes on without it.
struct Problem: Portable, Comparable {
    let path: Path
    let reason: String

    static func < (a: Problem, b: Problem) -> Bool { (a.path, a.reason) < (b.path, b.reason) }
}
