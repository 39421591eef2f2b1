/// Types as a user writes them who does nothing for speed.
enum PlainMessage: RoundTripMessage {
    case order
    case answer(number: Int)

    static func answer(_ number: Int) -> PlainMessage { .answer(number: number) }

    var answered: Int? {
        if case .answer(let number) = self { number } else { nil }
    }
}

struct PlainEffect: NumberedEffect {
    private static let sample = String(repeating: "x", count: 56)

    var number: Int
    /// What is missing to 64 bytes.
    var payload = sample

    init(number: Int) { self.number = number }
}
