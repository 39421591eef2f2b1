import MessagePack
import SamovarCore
import SamovarWire

/// Subscriptions, outputs and cancelled effects in a snapshot.
extension SubscriptionTable.Activation {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(6)
        writer.write(id)
        writer.writeOptional(due)
        writer.write(wanted.id.text)
        wanted.kind.write(to: &writer)
    }

    init(from reader: inout MessagePackReader) throws {
        try reader.readFields(6, of: "a subscription")
        id = try reader.readEffect()
        due = try reader.readOptionalTimestamp()
        wanted = WantedEvent(id: Label(try reader.readString()), kind: try WantedEvent.Kind(from: &reader))
    }
}

extension WantedEvent.Kind {
    /// Two values: a number for the kind, and what belongs to it.
    func write(to writer: inout MessagePackWriter) {
        switch self {
        case .timer(let schedule, let message):
            writer.write(1)
            writer.writeArrayHeader(4)
            schedule.write(to: &writer)
            writer.writeBinary(message)
        case .lifecycle(let moment, let message):
            writer.write(2)
            writer.writeArrayHeader(2)
            writer.write(Int(moment.rawValue))
            writer.writeBinary(message)
        case .source(let payload, let options):
            writer.write(3)
            writer.writeArrayHeader(2)
            writer.writeBinary(payload)
            options.write(to: &writer)
        }
    }

    init(from reader: inout MessagePackReader) throws {
        let code = try reader.readInt()
        switch code {
        case 1:
            try reader.readFields(4, of: "a timer")
            self = .timer(try Schedule(from: &reader), message: try reader.readBinary())
        case 2:
            try reader.readFields(2, of: "a subscription to the store's life")
            let number = try reader.readInt()
            guard let moment = UInt8(exactly: number).flatMap(Lifecycle.init) else {
                throw WireError.malformed("unknown moment \(number)")
            }
            self = .lifecycle(moment, message: try reader.readBinary())
        case 3:
            try reader.readFields(2, of: "a source")
            self = .source(payload: try reader.readBinary(), try RunOptions(from: &reader))
        default: throw WireError.malformed("unknown subscription \(code)")
        }
    }
}

extension Schedule {
    /// Three values: the kind of rule, the rule, and what becomes of missed times.
    func write(to writer: inout MessagePackWriter) {
        switch rule {
        case .every(let interval):
            writer.write(1)
            writer.write(interval.microseconds)
        case .at(let time):
            writer.write(2)
            writer.write(time.microseconds)
        case .cron(let cron):
            writer.write(3)
            writer.writeList(cron.fields) { $1.write($0) }
        }
        writer.write(Int(missed.rawValue))
    }

    init(from reader: inout MessagePackReader) throws {
        let code = try reader.readInt()
        let rule: Rule
        switch code {
        case 1: rule = .every(.microseconds(try reader.readInt64()))
        case 2: rule = .at(Timestamp(microseconds: try reader.readInt64()))
        case 3:
            guard let cron = Cron(fields: try reader.readList { try $0.readUInt64() }) else {
                throw WireError.malformed("a calendar of other than six fields")
            }
            rule = .cron(cron)
        default: throw WireError.malformed("unknown schedule \(code)")
        }
        let number = try reader.readInt()
        guard let missed = UInt8(exactly: number).flatMap(Missed.init) else {
            throw WireError.malformed("unknown rule for missed times \(number)")
        }
        self.init(rule, missed: missed)
    }
}

extension EffectLedger.Cancelled {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(4)
        writer.write(id)
        writer.write(root)
        writer.write(label.text)
    }

    init(from reader: inout MessagePackReader) throws {
        try reader.readFields(4, of: "a cancelled effect")
        self.init(id: try reader.readEffect(), root: try reader.readInt(), label: Label(try reader.readString()))
    }
}

extension QueueControls {
    /// A list of the controls that make it.
    func write(to writer: inout MessagePackWriter) {
        writer.writeList(controls) { $0.write(to: &$1) }
    }

    init(from reader: inout MessagePackReader) throws {
        self.init()
        for control in try reader.readList({ try Control(from: &$0) }) { take(control) }
    }
}
