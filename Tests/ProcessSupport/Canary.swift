/// Words that a test puts where nobody but their owner may see them, and looks for everywhere else.
///
/// `.ci/run` looks for what they begin with in the output of all tests: so do not print them.
public enum Canary {
    private static let run = String(UInt64.random(in: .min ... .max), radix: 16)

    /// For inputs, effects and answers.
    public static let payload = "canary.payload." + run
    /// For what a handler says of its failure, which the store's log and operators are told.
    public static let detail = "canary.detail." + run
    /// For names of cases, fields, queues and programs, which are told to whoever has used one that there is not, and to operators.
    public static let name = "canary.name." + run
    /// For a password.
    public static let password = "canary.password." + run

    /// The Z85 of a secret key.
    public static func secret() -> String {
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz")
        return "CanarySecret" + String((0..<28).map { _ in digits.randomElement() ?? "0" })
    }
}
