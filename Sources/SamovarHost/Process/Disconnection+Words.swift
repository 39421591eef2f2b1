import SamovarPeers
import ZeroMQ

extension Disconnection {
    /// What the end of a connection means, in words for whoever has to do with keys.
    ///
    /// - Parameters:
    ///   - keyFile: of the key that was shown; nil if none was.
    ///   - isUsual: the last attempts have ended alike, and not by the end of a store at such a moment.
    init(_ end: ConnectionEnd, at place: String, keyFile: String?, isUsual: Bool) {
        switch (end, keyFile) {
        case (.lost, _), (.unanswered, nil): self = .broken
        case (.unanswered, _?) where !isUsual: self = .broken
        // Which of the two sides finds out first, and whether it says so, is chance.
        case (.unanswered, let file?), (.misunderstood, let file?):
            self = .keyRefused("whoever is at \(place) is no store, or has none of the keys that \(file) names for it")
        case (.refused, let file?):
            self = .keyRefused(
                "the store at \(place) does not take the key of \(file): it is unknown there, revoked, expired, or not for this")
        case (.refused, nil): self = .keyRefused("the store at \(place) does not let this user in")
        case (.misunderstood, nil):
            self = .keyRefused(
                "whoever is at \(place) is no store, or lets nobody in without a key: name its file with --key (key: FILE in a file, "
                    + "SAMOVAR_KEY=FILE)")
        }
    }
}
