import Testing

/// Bounds that keep the sources readable: who comes upon one splits by subject, or finds what can go.
@Suite struct SourceFilesTests {
    @Test func `No file has more than 450 lines`() throws {
        let files = try Checkout.files(below: "Sources", ending: ".swift")
        #expect(files.count > 500, "the sources were not found")
        for path in files {
            let lines = try Checkout.text(path).split(separator: "\n", omittingEmptySubsequences: false).count - 1
            #expect(lines <= 450, "\(path) has \(lines)")
        }
    }

    @Test func `The store's machine has at most 20 stored properties`() throws {
        let text = try Checkout.text("Sources/SamovarStore/Machine/StoreMachine.swift")
        let properties = text.matches(of: /(?m)^    (?:public |private |private\(set\) )*(?:var|let) (\w+)[^{\n]*$/).map(\.1)
        #expect(Set(["settings", "turns", "suspicion", "viewTopics"]).isSubset(of: properties), "\(properties)")
        #expect(properties.count <= 20, "\(properties)")
    }
}
