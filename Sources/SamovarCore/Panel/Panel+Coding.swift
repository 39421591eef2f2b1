/// The encoded form of panels.
public enum PanelFormat {
    /// Stands under the key `panel`, by which a renderer knows that a view is a panel.
    public static let version = 1
}

/// The encoded form is written out, not synthesised, because it is read by renderers and written by programs in other languages. Every
/// node is a map with its `kind`. See `docs/panel.md`.
extension Panel: Codable where Input: Codable {
    private enum Key: String, CodingKey {
        case panel, title, of
    }

    /// Reads the encoded form of docs/panel.md.
    ///
    /// - Throws: `DecodingError`, also for another version of the form.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let version = try values.decode(Int.self, forKey: .panel)
        guard version == PanelFormat.version else {
            throw DecodingError.dataCorruptedError(
                forKey: .panel, in: values,
                debugDescription: "a panel of version \(version); this build reads version \(PanelFormat.version)")
        }
        title = try values.decodeIfPresent(String.self, forKey: .title) ?? ""
        nodes = try values.decode([PanelNode<Input>].self, forKey: .of)
    }

    /// Writes the encoded form of docs/panel.md.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(PanelFormat.version, forKey: .panel)
        try values.encode(title, forKey: .title)
        try values.encode(nodes, forKey: .of)
    }
}

extension PanelNode: Codable where Input: Codable {
    private enum Key: String, CodingKey {
        case kind, text, style, label, send, of, title, columns, rows, value, from, to, unit, done, total, type, holds
    }

    private enum Kind: String, Codable {
        case text, button, rows, columns, section, table, gauge, progress, field, space
    }

    /// Reads the encoded form of docs/panel.md.
    ///
    /// - Throws: `DecodingError`, for a kind that there is not, too.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        switch try values.decode(Kind.self, forKey: .kind) {
        case .text:
            self = .text(
                try values.decode(String.self, forKey: .text), try values.decodeIfPresent(PanelStyle.self, forKey: .style) ?? .plain
            )
        case .button:
            self = .button(
                try values.decode(String.self, forKey: .label), send: try values.decode(Input.self, forKey: .send))
        case .rows: self = .rows(try values.decode([PanelNode].self, forKey: .of))
        case .columns: self = .columns(try values.decode([PanelNode].self, forKey: .of))
        case .section:
            self = .section(
                try values.decode(String.self, forKey: .title), try values.decode([PanelNode].self, forKey: .of))
        case .table:
            self = .table(
                try values.decode([PanelColumn].self, forKey: .columns), rows: try values.decode([[PanelNode]].self, forKey: .rows))
        case .gauge: self = .gauge(try PanelGauge(from: decoder))
        case .progress: self = .progress(try PanelProgress(from: decoder))
        case .field: self = .field(try Self.field(from: values))
        case .space: self = .space
        }
    }

    private static func field(from values: KeyedDecodingContainer<Key>) throws -> PanelField<Input> {
        let examples = try values.decode([Input].self, forKey: .send)
        guard examples.count == 2 else {
            throw DecodingError.dataCorruptedError(
                forKey: .send, in: values, debugDescription: "a field has two inputs, not \(examples.count)")
        }
        return PanelField(
            label: try values.decode(String.self, forKey: .label),
            kind: try values.decode(PanelFieldKind.self, forKey: .type),
            holds: try values.decodeIfPresent(String.self, forKey: .holds) ?? "", first: examples[0], second: examples[1])
    }

    /// Writes the encoded form of docs/panel.md.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        switch self {
        case .text(let text, let style):
            try values.encode(Kind.text, forKey: .kind)
            try values.encode(text, forKey: .text)
            if style != .plain { try values.encode(style, forKey: .style) }
        case .button(let label, let input):
            try values.encode(Kind.button, forKey: .kind)
            try values.encode(label, forKey: .label)
            try values.encode(input, forKey: .send)
        case .rows(let nodes): try encode(.rows, nodes, in: &values)
        case .columns(let nodes): try encode(.columns, nodes, in: &values)
        case .section(let title, let nodes):
            try encode(.section, nodes, in: &values)
            try values.encode(title, forKey: .title)
        case .table(let table):
            try values.encode(Kind.table, forKey: .kind)
            try values.encode(table.columns, forKey: .columns)
            try values.encode(table.rows, forKey: .rows)
        case .gauge(let gauge):
            try values.encode(Kind.gauge, forKey: .kind)
            try gauge.encode(to: encoder)
        case .progress(let progress):
            try values.encode(Kind.progress, forKey: .kind)
            try progress.encode(to: encoder)
        case .field(let field):
            try values.encode(Kind.field, forKey: .kind)
            try values.encode(field.label, forKey: .label)
            try values.encode(field.kind, forKey: .type)
            try values.encode(field.holds, forKey: .holds)
            try values.encode([field.first, field.second], forKey: .send)
        case .space: try values.encode(Kind.space, forKey: .kind)
        }
    }

    private func encode(_ kind: Kind, _ nodes: [PanelNode], in values: inout KeyedEncodingContainer<Key>) throws {
        try values.encode(kind, forKey: .kind)
        try values.encode(nodes, forKey: .of)
    }
}

extension PanelGauge {
    private enum Key: String, CodingKey {
        case label, value, from, to, unit
    }

    /// Reads the encoded form of docs/panel.md.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        self.init(
            label: try values.decode(String.self, forKey: .label), value: try values.decode(Double.self, forKey: .value),
            from: try values.decode(Double.self, forKey: .from), to: try values.decode(Double.self, forKey: .to),
            unit: try values.decodeIfPresent(String.self, forKey: .unit) ?? "")
    }
}

extension PanelColumn {
    private enum Key: String, CodingKey {
        case title, alignment
    }

    /// Reads the encoded form of docs/panel.md.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        self.init(
            try values.decode(String.self, forKey: .title), try values.decodeIfPresent(Alignment.self, forKey: .alignment) ?? .left)
    }
}
