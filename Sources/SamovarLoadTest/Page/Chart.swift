import Foundation
import SamovarText

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
    typealias Mark = (x: Double, name: String)

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
            let look = "swatch b\(index % 8)\(series.isDashed ? " dashed" : "")"
            return "<span class=\"key\"><i class=\"\(look)\"></i>\(escaped(series.name))</span>"
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
            let (begin, end) = (number(Self.left), number(width - Self.right))
            parts.append("<line class=\"grid\" x1=\"\(begin)\" x2=\"\(end)\" y1=\"\(place)\" y2=\"\(place)\"/>")
            parts.append(label(tick, number(Self.left - 8), place, anchor: "end"))
        }
        for tick in x.ticks {
            parts.append(label(tick, number(px(tick.value)), number(Self.height - 14), anchor: "middle"))
        }
        parts += marks.map(mark)
        for (index, series) in series.enumerated() { parts += lines(of: series, index % 8) }
        return parts.joined(separator: "\n") + "\n</svg>"
    }

    private func label(_ tick: Axis.Tick, _ x: String, _ y: String, anchor: String) -> String {
        "<text class=\"tick\" x=\"\(x)\" y=\"\(y)\" dy=\".32em\" text-anchor=\"\(anchor)\">\(escaped(tick.label))</text>"
    }

    private func mark(_ mark: Mark) -> String {
        let place = number(px(mark.x))
        let (top, floor) = (number(Self.top), number(Self.height - Self.bottom))
        return "<g><line class=\"mark\" x1=\"\(place)\" x2=\"\(place)\" y1=\"\(top)\" y2=\"\(floor)\"/>"
            + "<text class=\"cross\" x=\"\(place)\" y=\"\(number(Self.top + 3))\" text-anchor=\"middle\">✕</text>"
            + "<title>\(escaped(mark.name)) killed at \(String(format: "%.1f", mark.x)) s</title></g>"
    }

    private func lines(of series: Series, _ colour: Int) -> [String] {
        guard !series.points.isEmpty else { return [] }
        let path = series.points.map { "\(number(px($0.x))),\(number(py($0.y)))" }.joined(separator: " ")
        var parts: [String] = []
        if series.isArea, let first = series.points.first, let last = series.points.last {
            let floor = number(Self.height - Self.bottom)
            let corners = "\(number(px(first.x))),\(floor) \(path) \(number(px(last.x))),\(floor)"
            parts.append("<polygon class=\"area f\(colour)\" points=\"\(corners)\"/>")
        }
        parts.append("<polyline class=\"line s\(colour)\(series.isDashed ? " dashed" : "")\" points=\"\(path)\"/>")
        guard !series.isDashed else { return parts }
        // Many points would hide the line; they are there for the pointer alone then.
        let (look, radius) = series.points.count <= 60 ? ("dot", "2.6") : ("hit", "5")
        for point in series.points {
            let place = "cx=\"\(number(px(point.x)))\" cy=\"\(number(py(point.y)))\" r=\"\(radius)\""
            let title = escaped("\(series.name): \(describe(point.x, point.y))")
            parts.append("<circle class=\"\(look) f\(colour)\" \(place)><title>\(title)</title></circle>")
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
    replacingScalars(of: text) { scalar in
        switch scalar {
        case "&": "&amp;"
        case "<": "&lt;"
        case ">": "&gt;"
        case "\"": "&quot;"
        case "'": "&#39;"
        // Controls are not allowed in HTML, but for white space; they would hide what stands there.
        case "\u{0}"..<"\u{20}" where scalar != "\n" && scalar != "\t", "\u{7F}"..<"\u{A0}": "\u{FFFD}"
        default: nil
        }
    }
}
