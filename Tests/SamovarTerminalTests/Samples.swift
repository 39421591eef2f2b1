import MessagePack
import SamovarCore

@testable import SamovarTerminal

/// Inputs of a program that the renderer does not know.
enum Order: Portable {
    case increment
    case rename(to: String)
    case add(count: Int)
    case scale(by: Double)
    case remove(id: Int)
}

/// What a renderer reads of a view.
func read(_ panel: Panel<Order>, _ limits: PanelLimits = PanelLimits()) throws -> AnyPanel {
    var reader = MessagePackReader(try MessagePackEncoder().encode(panel))
    return PanelReader.panel(in: try reader.readValue(), limits) ?? AnyPanel("no panel", [])
}

func value(_ order: Order) throws -> MessagePackValue {
    var reader = MessagePackReader(try MessagePackEncoder().encode(order))
    return try reader.readValue()
}

/// A panel as it is drawn without keys at a width.
func draw(_ panel: AnyPanel, width: Int = 60, _ limits: PanelLimits = PanelLimits()) -> [String] {
    var layout = PanelLayout(PanelControl.all(of: panel), limits)
    layout.isInteractive = false
    return layout.block(of: panel, width: width).rows.map(\.line)
}

func draw(_ node: PanelNode<Order>, width: Int = 60) throws -> [String] {
    draw(try read(Panel("", [node])), width: width)
}
