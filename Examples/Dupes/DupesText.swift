/// What a person reads of a search.
enum DupesText {
    /// One line, for logs and pipes.
    static func line(of view: Dupes.ViewState) -> String {
        let counts = view.counts
        return [
            "\(view.phase.rawValue) \(percent(view.fraction))",
            "\(plural(counts.directories, "directory", "directories")), \(plural(counts.files, "file"))",
            "\(bytes(counts.hashedBytes)) hashed",
            "\(plural(counts.groups, "group")) of duplicates, \(bytes(counts.reclaimableBytes)) to free",
            plural(view.problems, "problem"),
        ].joined(separator: "; ")
    }

    /// Several lines, for a live screen and as the summary at the end.
    static func screen(of view: Dupes.ViewState) -> String {
        var lines = [
            "Duplicates below \(printable(view.root))",
            "\(bar(view.fraction)) \(percent(view.fraction)) \(view.phase.rawValue)",
            "",
        ]
        lines += summary(of: view)
        if !view.largest.isEmpty {
            lines += ["", "What frees most"]
            lines += view.largest.flatMap(group)
        }
        if !view.firstProblems.isEmpty {
            lines += ["", "Problems"]
            lines += view.firstProblems.map { "  \(printable($0.path)): \(printable(Path($0.reason)))" }
            let more = view.problems - view.firstProblems.count
            if more > 0 { lines.append("  … and \(grouped(more)) more") }
        }
        return lines.joined(separator: "\n")
    }

    private static func summary(of view: Dupes.ViewState) -> [String] {
        let counts = view.counts
        var files = plural(counts.files, "file")
        if counts.smallFiles > 0 { files += ", \(grouped(counts.smallFiles)) too small" }
        if counts.hardLinks > 0 { files += ", \(plural(counts.hardLinks, "hard link"))" }
        return [
            "  found       \(plural(counts.directories, "directory", "directories")), \(files)",
            "  hashed      \(plural(counts.hashedFiles, "file")), \(bytes(counts.hashedBytes))",
            "  duplicates  \(plural(counts.groups, "group")), \(bytes(counts.reclaimableBytes)) to free",
            "  problems    \(grouped(view.problems))",
        ]
    }

    private static func group(_ group: Dupes.LargeGroup) -> [String] {
        let title = "  \(bytes(group.reclaimableBytes)): \(plural(group.copies, "copy", "copies")) of \(bytes(group.size))"
        var lines = [title] + group.paths.map { "    \(printable($0))" }
        let more = group.copies - group.paths.count
        if more > 0 { lines.append("    … and \(grouped(more)) more") }
        return lines
    }
}

extension DupesText {
    static func bar(_ fraction: Double, width: Int = 30) -> String {
        let filled = Int(clamped(fraction) * Double(width))
        return "[" + String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled) + "]"
    }

    /// Rounded down: 100 % is said only of what is done.
    static func percent(_ fraction: Double) -> String {
        "\(Int(clamped(fraction) * 100)) %"
    }

    private static func clamped(_ fraction: Double) -> Double {
        // Not a number is neither less nor more than anything, and no integer can be made of it.
        fraction > 0 ? min(fraction, 1) : 0
    }

    /// A count of bytes in decimal units, rounded down to a tenth.
    static func bytes(_ count: Int) -> String {
        guard count >= 1_000 else { return "\(count) B" }
        var unit = 1_000
        for name in ["kB", "MB", "GB", "TB", "PB"] {
            if count / 1_000 < unit { return "\(count / unit).\(count % unit / (unit / 10)) \(name)" }
            unit *= 1_000
        }
        return "\(count / unit).\(count % unit / (unit / 10)) EB"
    }

    /// A number with its thousands apart.
    static func grouped(_ number: Int) -> String {
        var text = ""
        for (position, digit) in number.magnitude.description.reversed().enumerated() {
            if position > 0, position.isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "-" : "") + String(text.reversed())
    }

    private static func plural(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? one : many ?? one + "s")"
    }

    /// A path without anything that a terminal would obey: a file may be called whatever its author likes, also
    /// “clear the screen”. Bytes that are no text are written as `\xff`.
    static func printable(_ path: Path) -> String {
        guard let text = String(validating: path.bytes, as: UTF8.self) else {
            return path.bytes.reduce(into: "") { result, byte in
                result += (0x20...0x7e).contains(byte) ? String(Unicode.Scalar(byte)) : "\\x" + hexadecimal(byte)
            }
        }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar.properties.generalCategory {
            // Format characters too: some of them reverse the direction of what follows.
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default:
                result.unicodeScalars.append(scalar)
            }
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
