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
    var payload: String

    init(number: Int) {
        let digits = String(number)
        payload = String(repeating: "0", count: 64 - digits.count) + digits
    }

    var number: Int { Int(payload) ?? -1 }
}
