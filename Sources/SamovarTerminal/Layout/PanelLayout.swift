import MessagePack
import SamovarCore

/// Draws a panel for a width: texts are wrapped, columns that do not fit go below one another, tables are narrowed.
///
/// It knows nothing of the terminal, and where the focus is it is told. Two passes: how wide a node would like to be, then its block
/// at the width that it gets. The first asks only its children, so nesting costs no more than its depth.
struct PanelLayout {
    static let gap = 2

    let limits: PanelLimits
    let controls: [PanelControl]
    var focus: Int?
    /// By control.
    var entries: [Int: FieldEntry] = [:]
    /// Whether keys are shown.
    var isInteractive = true

    /// The numbers of the controls by their paths.
    let indices: [[Int]: Int]
    /// The keys of buttons, by control.
    private let digits: [Int: Int]

    init(_ controls: [PanelControl], _ limits: PanelLimits) {
        self.limits = limits
        self.controls = controls
        indices = Dictionary(uniqueKeysWithValues: zip(controls.map(\.path), controls.indices))
        digits = Dictionary(
            uniqueKeysWithValues: zip(controls.indices.filter { !controls[$0].isField }, 1...9))
    }

    /// The whole panel, from its title on.
    func block(of panel: AnyPanel, width: Int) -> Block {
        let width = max(width, 1)
        var block = Block()
        if !panel.title.isEmpty {
            block.rows.append([Cell](glyphs(panel.title).cut(to: width), .heading))
            block.rows.append([])
        }
        let natural = naturalWidth(ofRows: panel.nodes, labelWidth: labelWidth(of: panel.nodes))
        block.append(rows(panel.nodes, [], width: min(width, natural)), limit: limits.lines)
        return block
    }

    func glyphs(_ text: String) -> [Glyph] { Glyph.glyphs(of: text, limits) }

    /// The key of a button, if it has one and keys are shown.
    func digit(of control: Int?) -> Int? {
        guard isInteractive, let control else { return nil }
        return digits[control]
    }

    // MARK: Widths

    func naturalWidth(_ node: AnyPanelNode, labelWidth: Int = 0) -> Int {
        let width =
            switch node {
            case .text(let text, _): glyphs(text).width
            case .button(let label, _): glyphs(label).width + (isInteractive ? 4 : 2)
            case .rows(let nodes): naturalWidth(ofRows: nodes, labelWidth: self.labelWidth(of: nodes))
            case .columns(let nodes):
                nodes.reduce(0) { min($0 + naturalWidth($1), limits.columns) } + Self.gap * max(0, nodes.count - 1)
            case .section(let title, let nodes):
                max(glyphs(title).width + 2, naturalWidth(ofRows: nodes, labelWidth: self.labelWidth(of: nodes))) + 4
            case .table(let table):
                naturalWidths(of: table).reduce(0) { min($0 + $1 + Self.gap, limits.columns) } - Self.gap
            case .gauge(let gauge): labelled(gauge.label, labelWidth) + limits.barWidth + 1 + readout(gauge).count
            case .progress(let progress): labelled(progress.label, labelWidth) + limits.barWidth + 1 + readout(progress).count
            case .field(let field): labelled(field.label, labelWidth) + limits.fieldWidth
            case .space: 1
            }
        return min(max(width, 0), limits.columns)
    }

    func naturalWidth(ofRows nodes: [AnyPanelNode], labelWidth: Int) -> Int {
        nodes.reduce(0) { max($0, naturalWidth($1, labelWidth: labelWidth)) }
    }

    func naturalWidths(of table: PanelTable<MessagePackValue>) -> [Int] {
        var widths = table.columns.map { glyphs($0.title).width }
        for row in table.rows {
            for (column, node) in row.enumerated() { widths[column] = max(widths[column], naturalWidth(node)) }
        }
        return widths
    }

    /// The width of the longest label among nodes that stand below one another, so that their values begin at one column.
    func labelWidth(of nodes: [AnyPanelNode]) -> Int {
        let widths = nodes.compactMap { node in
            switch node {
            case .gauge(let gauge): glyphs(gauge.label).width
            case .progress(let progress): glyphs(progress.label).width
            case .field(let field): glyphs(field.label).width
            default: nil
            }
        }
        return min(widths.max() ?? 0, limits.labelWidth)
    }

    private func labelled(_ label: String, _ labelWidth: Int) -> Int {
        let width = max(min(glyphs(label).width, limits.labelWidth), labelWidth)
        return width == 0 ? 0 : width + Self.gap
    }
}
