/// The packable types once more, as a user writes them, with code that `schema --codec` wrote for them.
enum GeneratedMessage: RoundTripMessage {
    case order
    case answer(number: Int)

    static func answer(_ number: Int) -> GeneratedMessage { .answer(number: number) }

    var answered: Int? {
        if case .answer(let number) = self { number } else { nil }
    }
}

struct GeneratedEffect: NumberedEffect {
    var payload: [UInt8]

    init(number: Int) { payload = Samples.bytes(number) }

    var number: Int { Samples.number(of: payload) }
}
