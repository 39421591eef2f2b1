/// First in, first out, and a single element needs no memory: most turns have one follow-up or none.
@usableFromInline
package struct ShortQueue<Element> {
    @usableFromInline var first: Element?
    @usableFromInline var rest: [Element] = []
    /// Of `rest`, how many have been taken.
    @usableFromInline var taken = 0

    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { first == nil }

    @inlinable
    package mutating func append(_ element: Element) {
        if first == nil { first = element } else { rest.append(element) }
    }

    /// Takes the element that has been there longest; nil if there is none.
    @inlinable
    package mutating func popFirst() -> Element? {
        guard let element = first.take() else { return nil }
        if taken < rest.count {
            first = rest[taken]
            taken += 1
            if taken == rest.count {
                rest.removeAll(keepingCapacity: true)
                taken = 0
            }
        }
        return element
    }
}
