/// The plain types once more, with code that `schema --codec` wrote for them.
enum GeneratedMessage: RoundTripMessage {
    case order
    case answer(number: Int)

    static func answer(_ number: Int) -> GeneratedMessage { .answer(number: number) }

    var answered: Int? {
        if case .answer(let number) = self { number } else { nil }
    }
}

struct GeneratedEffect: NumberedEffect {
    private static let sample = String(repeating: "x", count: 56)

    var number: Int
    /// What is missing to 64 bytes.
    var payload = sample

    init(number: Int) { self.number = number }
}
