import Foundation
package import MessagePack

extension MessagePackValue {
    /// A value as unquoted text: what stands for it where only a string can be, as for the key of an object.
    package var plainText: String {
        switch self {
        case .nil: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .uint(let value): String(value)
        case .float(let value): value.description
        case .double(let value): value.description
        case .string(let value): value
        case .binary(let bytes): Data(bytes).base64EncodedString()
        case .extension(let type, let bytes): instantText(type, bytes) ?? JSONTranscoder.text(of: self)
        case .array, .map: JSONTranscoder.text(of: self)
        }
    }
}
