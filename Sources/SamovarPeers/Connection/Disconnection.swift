/// What the transport knows of the end of a connection.
public enum Disconnection: Equatable, Sendable {
    /// It broke, or nobody listens there.
    case broken
    /// It could not even be tried, in words: a name that is not known, say.
    case impossible(String)
    /// The store does not take the key, or does not have the one that the key file names: in words.
    case keyRefused(String)
}
