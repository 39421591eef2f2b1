/// What a person has typed into a field, and where the cursor stands in it.
struct FieldEntry: Equatable {
    private(set) var characters: [Character] = []
    /// How many characters are to the left of the cursor.
    private(set) var cursor = 0

    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }

    /// Takes what fits within the limit. Control characters cannot be typed, so those of a paste are left out.
    mutating func insert(_ text: String, _ limits: PanelLimits) {
        let room = limits.typedCharacters - self.text.unicodeScalars.count
        // As one text, for an accent that comes after its letter belongs to it.
        var before = String(characters[..<cursor])
        for scalar in text.unicodeScalars.lazy.filter({ !$0.controlsTerminal }).prefix(max(0, room)) {
            before.unicodeScalars.append(scalar)
        }
        let after = characters[cursor...]
        characters = Array(before)
        cursor = characters.count
        characters += after
    }

    mutating func deleteBackward() {
        guard cursor > 0 else { return }
        cursor -= 1
        characters.remove(at: cursor)
    }

    mutating func deleteForward() {
        guard cursor < characters.count else { return }
        characters.remove(at: cursor)
    }

    mutating func move(by steps: Int) {
        cursor = min(max(cursor + steps, 0), characters.count)
    }
}
