import SamovarProtocol
import ZeroMQ

extension Disconnection {
    /// What the end of a connection means, in words for whoever has to do with keys.
    ///
    /// - Parameters:
    ///   - keyFile: of the key that was shown; nil if none was.
    ///   - isUsual: the last attempts have ended alike.
    init(_ end: ConnectionEnd, at place: String, keyFile: String?, isUsual: Bool) {
        switch (end, keyFile) {
        case (.lost, _), (.unanswered, nil): self = .broken
        case (.unanswered, let file?):
            guard isUsual else {
                self = .broken
                return
            }
            self = .keyRefused(
                "whoever is at \(place) ends each connection before it stands: it is no store, or has none of the keys that \(file) "
                    + "names")
        case (.refused, let file?):
            self = .keyRefused(
                "the store at \(place) does not take the key of \(file): it is unknown there, revoked, expired, or not for this")
        case (.refused, nil): self = .keyRefused("the store at \(place) does not let this user in")
        case (.misunderstood, let file?):
            self = .keyRefused("whoever is at \(place) has no keys, and so is not the store of \(file)")
        case (.misunderstood, nil):
            self = .keyRefused(
                "whoever is at \(place) is no store, or lets nobody in without a key: name its file with --key (key: FILE in a file, "
                    + "SAMOVAR_KEY=FILE)")
        }
    }
}
