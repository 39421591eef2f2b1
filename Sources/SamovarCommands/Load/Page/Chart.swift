import Foundation

/// A line chart as SVG. Its colours are those of the page, so it is readable on light and on dark.
struct Chart {
    struct Series {
        let name: String
        var points: [(x: Double, y: Double)]
        /// Filled below.
        var isArea = false
        /// A plan and no measurement.
        var isDashed = false
    }

    /// An event at a time.
    struct Mark {
        let x: Double
        let name: String
    }

    let title: String
    let subtitle: String
    let x: Axis
    let y: Axis
    let series: [Series]
    var marks: [Mark] = []
    /// Over the whole page and not over half of it. Its letters are of the same size then.
    var isWide = false
    /// What a point says when the pointer rests on it.
    let describe: (Double, Double) -> String

    private var width: Double { isWide ? 1_100 : 540 }
    private static let height = 250.0
    private static let left = 60.0
    private static let right = 14.0
    private static let top = 12.0
    private static let bottom = 30.0

    /// With its title and legend.
    var figure: String {
        """
        <figure class="card">
        <figcaption><b>\(escaped(title))</b><span class="sub">\(escaped(subtitle))</span>\(legend)</figcaption>
        \(svg)
        </figure>
        """
    }

    private var legend: String {
        var items = series.enumerated().map { index, series in
            "<span class=\"key\"><i class=\"swatch b\(index % 8)\(series.isDashed ? " dashed" : "")\"></i>\(escaped(series.name))</span>"
        }
        for name in Set(marks.map(\.name)).sorted() {
            items.append("<span class=\"key\"><i class=\"kill\">✕</i>\(escaped(name)) killed</span>")
        }
        return items.count > 1 ? "<span class=\"legend\">\(items.joined())</span>" : ""
    }

    private var svg: String {
        var parts = [
            "<svg viewBox=\"0 0 \(Int(width)) \(Int(Self.height))\" role=\"img\" aria-label=\"\(escaped(title))\">"
        ]
        for tick in y.ticks {
            let place = number(py(tick.value))
            parts.append(
                "<line class=\"grid\" x1=\"\(number(Self.left))\" x2=\"\(number(width - Self.right))\" y1=\"\(place)\" y2=\"\(place)\"/>"
                    + "<text class=\"tick\" x=\"\(number(Self.left - 8))\" y=\"\(place)\" dy=\".32em\" text-anchor=\"end\">\(escaped(tick.label))</text>")
        }
        for tick in x.ticks {
            parts.append(
                "<text class=\"tick\" x=\"\(number(px(tick.value)))\" y=\"\(number(Self.height - 10))\" text-anchor=\"middle\">\(escaped(tick.label))</text>"
            )
        }
        parts += marks.map(mark)
        for (index, series) in series.enumerated() { parts += lines(of: series, index % 8) }
        return parts.joined(separator: "\n") + "\n</svg>"
    }

    private func mark(_ mark: Mark) -> String {
        let place = number(px(mark.x))
        return "<g><line class=\"mark\" x1=\"\(place)\" x2=\"\(place)\" y1=\"\(number(Self.top))\" y2=\"\(number(Self.height - Self.bottom))\"/>"
            + "<text class=\"cross\" x=\"\(place)\" y=\"\(number(Self.top + 3))\" text-anchor=\"middle\">✕</text>"
            + "<title>\(escaped(mark.name)) killed at \(String(format: "%.1f", mark.x)) s</title></g>"
    }

    private func lines(of series: Series, _ colour: Int) -> [String] {
        guard !series.points.isEmpty else { return [] }
        let path = series.points.map { "\(number(px($0.x))),\(number(py($0.y)))" }.joined(separator: " ")
        var parts: [String] = []
        if series.isArea, let first = series.points.first, let last = series.points.last {
            let floor = number(Self.height - Self.bottom)
            parts.append(
                "<polygon class=\"area f\(colour)\" points=\"\(number(px(first.x))),\(floor) \(path) \(number(px(last.x))),\(floor)\"/>")
        }
        parts.append("<polyline class=\"line s\(colour)\(series.isDashed ? " dashed" : "")\" points=\"\(path)\"/>")
        guard !series.isDashed else { return parts }
        let isSparse = series.points.count <= 60
        for point in series.points {
            parts.append(
                "<circle class=\"\(isSparse ? "dot" : "hit") f\(colour)\" cx=\"\(number(px(point.x)))\" cy=\"\(number(py(point.y)))\" r=\"\(isSparse ? "2.6" : "5")\">"
                    + "<title>\(escaped(series.name)): \(escaped(describe(point.x, point.y)))</title></circle>")
        }
        return parts
    }

    private func px(_ value: Double) -> Double { Self.left + x.position(of: value) * (width - Self.left - Self.right) }

    private func py(_ value: Double) -> Double {
        Self.height - Self.bottom - y.position(of: value) * (Self.height - Self.bottom - Self.top)
    }

    private func number(_ value: Double) -> String {
        let text = String(format: "%.1f", value)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

/// Text that means itself in HTML, in an element as in an attribute.
func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": result += "&amp;"
        case "<": result += "&lt;"
        case ">": result += "&gt;"
        case "\"": result += "&quot;"
        case "'": result += "&#39;"
        // Controls are not allowed in HTML, but for white space; they would hide what stands there.
        case "\u{0}"..<"\u{20}" where scalar != "\n" && scalar != "\t", "\u{7F}"..<"\u{A0}": result += "\u{FFFD}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
