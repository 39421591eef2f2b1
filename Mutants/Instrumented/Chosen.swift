#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The change that this process runs with: the name of a planted bug, or the number of a mutant. Everything else is as it was written.
private let chosen = getenv("SAMOVAR_MUTANT").map { String(cString: $0) } ?? ""
private let chosenNumber = Int(chosen) ?? 0

@usableFromInline func planted(_ bug: String) -> Bool { chosen == bug }

@usableFromInline func mutant(_ number: Int) -> Bool { chosenNumber == number }

@usableFromInline func mutant(_ number: Int, negates condition: Bool) -> Bool { mutant(number) != condition }

/// The condition is evaluated all the same, for what else it does.
@usableFromInline func mutant(_ number: Int, assumes condition: Bool) -> Bool { mutant(number) || condition }

@usableFromInline func mutant(_ number: Int, denies condition: Bool) -> Bool { !mutant(number) && condition }

@usableFromInline func mutant<Value: Comparable>(_ number: Int, less left: Value, _ right: Value) -> Bool {
    mutant(number) ? left <= right : left < right
}

@usableFromInline func mutant<Value: Comparable>(_ number: Int, atMost left: Value, _ right: Value) -> Bool {
    mutant(number) ? left < right : left <= right
}

@usableFromInline func mutant<Value: Comparable>(_ number: Int, greater left: Value, _ right: Value) -> Bool {
    mutant(number) ? left >= right : left > right
}

@usableFromInline func mutant<Value: Comparable>(_ number: Int, atLeast left: Value, _ right: Value) -> Bool {
    mutant(number) ? left > right : left >= right
}
