/// A labelled place for typing, which makes an input of what is typed.
///
/// A view is data and cannot hold a function from text to input. So a field holds two inputs instead, made of two known values: where
/// they differ is the place for the typed value. The inputs are made by a closure, which the compiler checks; a renderer checks that
/// they differ by the known values and nothing else, that is, that the closure hands its value on unchanged.
public struct PanelField<Input: Equatable & Sendable>: Equatable, Sendable {
    /// What stands before it.
    public var label: String
    /// What may be typed.
    public var kind: PanelFieldKind
    /// What is shown before somebody types, such as the present value.
    public var holds: String
    /// The input for the first known value of its kind: `a`, 1 or 0.5.
    public var first: Input
    /// The input for the second known value: `b`, 2 or 1.5.
    public var second: Input

    /// A field of two inputs; programs use ``PanelNode/field(_:holds:send:)`` and its like, which make them.
    public init(label: String, kind: PanelFieldKind, holds: String, first: Input, second: Input) {
        self.label = label
        self.kind = kind
        self.holds = holds
        self.first = first
        self.second = second
    }
}

/// What may be typed into a field.
public enum PanelFieldKind: String, Portable, CaseIterable {
    /// Any text of one line.
    case text
    /// A whole number of 64 bits.
    case integer
    /// A finite floating-point number.
    case number
}

/// The known values of which the two inputs of a ``PanelField`` are made.
public enum PanelExample {
    /// The texts `a` and `b`.
    public static let text = ("a", "b")
    /// The whole numbers 1 and 2.
    public static let integer = (1, 2)
    /// The numbers 0.5 and 1.5.
    public static let number = (0.5, 1.5)
}

extension PanelNode {
    /// A field for text. The closure must hand the text on as it is: `{ .rename(to: $0) }`; `accept` is the place to refuse it.
    public static func field(_ label: String, holds: String = "", send: (String) -> Input) -> PanelNode {
        field(label, .text, holds, PanelExample.text, send)
    }

    /// A field for a whole number. The closure must hand the number on as it is.
    public static func integerField(_ label: String, holds: String = "", send: (Int) -> Input) -> PanelNode {
        field(label, .integer, holds, PanelExample.integer, send)
    }

    /// A field for a finite number. The closure must hand the number on as it is.
    public static func numberField(_ label: String, holds: String = "", send: (Double) -> Input) -> PanelNode {
        field(label, .number, holds, PanelExample.number, send)
    }

    private static func field<Value>(
        _ label: String, _ kind: PanelFieldKind, _ holds: String, _ examples: (Value, Value), _ send: (Value) -> Input
    ) -> PanelNode {
        .field(PanelField(label: label, kind: kind, holds: holds, first: send(examples.0), second: send(examples.1)))
    }
}
