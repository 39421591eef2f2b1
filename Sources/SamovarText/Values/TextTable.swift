package import MessagePack
import SamovarTerminal

/// Maps with the same keys as rows below each other, for people.
///
/// ```
/// effect  queue  attempts  status
/// 17/0    http          2  waiting
/// 23/1    http          0  running
/// ```
package enum TextTable {
    /// Characters after which a text is cut: in the last column it pushes nothing away.
    private static let longest = (inside: 60, last: 1_000)

    /// - Parameter columns: the keys, in their order. A column in which no row has anything is left out; numbers stand at its right.
    package static func lines(of rows: [MessagePackValue], _ columns: [String]) -> [String] {
        let shown = columns.filter { column in rows.contains { $0[column] ?? .nil != .nil } }
        let cells = rows.map { row in
            shown.map { cell(row[$0] ?? .nil, limit: $0 == shown.last ? longest.last : longest.inside) }
        }
        let widths = shown.indices.map { index in max(shown[index].columns, cells.map { $0[index].columns }.max() ?? 0) }
        let isNumber = shown.map { column in rows.allSatisfy { if case .int? = $0[column] { true } else { false } } }
        return ([shown] + cells).map { line in
            let padded = line.indices.map { index in
                let gap = String(repeating: " ", count: widths[index] - line[index].columns)
                return isNumber[index] ? gap + line[index] : line[index] + gap
            }
            return String(padded.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
        }
    }

    private static func cell(_ value: MessagePackValue, limit: Int) -> String {
        value == .nil ? "" : shortened(value.plainText, to: limit)
    }
}
