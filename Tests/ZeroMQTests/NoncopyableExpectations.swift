import Testing

/// `#expect` for what noncopyable values say about themselves, which the macro would copy.
func expect(_ condition: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(condition, sourceLocation: sourceLocation)
}
