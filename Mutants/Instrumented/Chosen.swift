#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What this process is asked for by its environment.
private struct Choice {
    /// The change that it runs with: the name of a planted bug, or the number of a mutant. Everything else is as it was written.
    let name = getenv("SAMOVAR_MUTANT").map { String(cString: $0) } ?? ""
    let number: Int
    /// A byte for each number, which becomes 1 when its place is reached; nil if nobody asks. A file, so that a crash loses nothing.
    private let reached: UnsafeMutablePointer<UInt8>?
    private let count: Int

    init() {
        number = Int(name) ?? 0
        guard let path = getenv("SAMOVAR_REACHED") else {
            (reached, count) = (nil, 0)
            return
        }
        let file = open(path, O_RDWR)
        count = Int(lseek(file, 0, SEEK_END))
        let memory = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        guard file >= 0, memory != MAP_FAILED else { exit(66) }
        reached = memory?.assumingMemoryBound(to: UInt8.self)
    }

    func note(_ number: Int) {
        if let reached, number < count { reached[number] = 1 }
    }
}

// Threads write the same byte to the same place.
private nonisolated(unsafe) let choice = Choice()

public func planted(_ bug: String) -> Bool { choice.name == bug }

public func mutant(_ number: Int) -> Bool {
    choice.note(number)
    return choice.number == number
}

public func mutant(_ number: Int, negates condition: Bool) -> Bool { mutant(number) != condition }

/// The condition is evaluated all the same, for what else it does.
public func mutant(_ number: Int, assumes condition: Bool) -> Bool { mutant(number) || condition }

public func mutant(_ number: Int, denies condition: Bool) -> Bool { !mutant(number) && condition }

public func mutant<Value: Comparable>(_ number: Int, less left: Value, _ right: Value) -> Bool {
    mutant(number) ? left <= right : left < right
}

public func mutant<Value: Comparable>(_ number: Int, atMost left: Value, _ right: Value) -> Bool {
    mutant(number) ? left < right : left <= right
}

public func mutant<Value: Comparable>(_ number: Int, greater left: Value, _ right: Value) -> Bool {
    mutant(number) ? left >= right : left > right
}

public func mutant<Value: Comparable>(_ number: Int, atLeast left: Value, _ right: Value) -> Bool {
    mutant(number) ? left > right : left >= right
}
