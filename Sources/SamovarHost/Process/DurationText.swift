extension Duration {
    /// In seconds, or in milliseconds if it is none of whole seconds: for a sentence.
    package var text: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        return milliseconds % 1_000 == 0 ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
    }
}
