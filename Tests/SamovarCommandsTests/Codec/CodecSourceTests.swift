import Foundation
import SamovarCore
import Testing

@testable import SamovarCommands
@testable import SamovarText

/// What `schema --codec` writes, and what it leaves to `Codable`.
@Suite struct CodecSourceTests {
    @Test func `The source is the one that these tests are compiled with`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Orders+Codec.swift")
        let source = CodecSource(of: Orders.self, leaving: [])
        #expect(try String(contentsOf: file, encoding: .utf8) == source.text + "\n", "write it anew: \(source.text)")
    }

    @Test func `What stays with Codable is said, and why`() {
        #expect(
            CodecSource(of: Orders.self, leaving: []).left == [
                "Orders.Box<Swift.Int>: it is generic",
                "Orders.BySize: counts: its keys are neither strings nor integers",
                "Orders.Crossed: one is not the property of that name",
                "Orders.Crossing: from of pair is not the value of that name",
                "Orders.Described: its own description hides whether lit is the name of a case",
                "Orders.Exchanged: buyer is not the property of that name",
                "Orders.Fixed: it does not encode its properties under their names",
                "Orders.Lone: to of pair is not the value of that name",
                "Orders.Long: aNameOfMoreThanThirtyOneBytesIsTooLong has more than 31 bytes",
                "Orders.LongCase: aNameOfMoreThanThirtyOneBytesIsTooLong has more than 31 bytes",
                "Orders.Numbered: the label _0 of pair is the key of a value without one",
                "Orders.Object: it is a class",
                "Orders.Odd: it encodes itself as another value",
                "Orders.Percent: it does not take {\"value\":100} as it is, so it has a coding of its own",
                "Orders.Renamed: it does not encode its properties under their names",
                "Orders.Sparse: tags and the property of that name are not both optional",
                "Orders.SparseCase: _0 of lines and the value of that name are not both optional",
                "Orders.Swapped: it does not take {\"one\":{\"_0\":0}} as it is, so it has a coding of its own",
                "Orders.Text: it encodes itself as another value",
                "Orders.Tree: _0: Orders.Tree stays with Codable: it is inside itself",
                "Orders.Trimmed: it does not take \" A b \" as it is, so it has a coding of its own",
                "Orders.Twice: number: it is optional twice",
                "Orders.Unnamed: text of named is not the value of that name",
                "Orders.ViewState: box: Orders.Box<Swift.Int> stays with Codable: it is generic",
            ])
    }

    @Test func `A type can be left out by name, and takes those along that have it inside`() {
        let source = CodecSource(of: Orders.self, leaving: ["Orders.Address"])
        #expect(source.text.hasPrefix("// Written by `schema --codec --leave Orders.Address`"))
        #expect(source.types == ["Orders.State"])
        #expect(source.left.contains("Orders.Address: it was named with --leave"))
        #expect(source.left.contains("Orders.Item: address: Orders.Address stays with Codable: it was named with --leave"))
    }
}
