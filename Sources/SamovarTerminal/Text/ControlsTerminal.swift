extension Unicode.Scalar {
    /// Whether a terminal may take it for an order: to move, to colour, or to write in another direction.
    package var controlsTerminal: Bool {
        switch value {
        case 0x00...0x1f, 0x7f...0x9f: true
        case 0x2028, 0x2029: true
        // Marks, embeddings and overrides, and isolates of direction.
        case 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
