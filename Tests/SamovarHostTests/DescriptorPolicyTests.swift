import Testing

@testable import SamovarHost

/// Which listeners of a store take connections, by the file descriptors that are left.
struct DescriptorPolicyTests {
    private func listeners(after numbers: Int...) -> DescriptorPolicy.Listeners {
        var policy = DescriptorPolicy(limit: 1_000)
        for number in numbers { policy.update(used: number) }
        return policy.listeners
    }

    @Test func `All listeners are open while a fifth is free`() {
        #expect(listeners() == .open)
        #expect(listeners(after: 799) == .open)
    }

    @Test func `Clients are turned away first, and workers only at the very end`() {
        #expect(listeners(after: 800) == .workersOnly)
        #expect(listeners(after: 899) == .workersOnly)
        #expect(listeners(after: 900) == .closed)
        #expect(listeners(after: Int.max / 200) == .closed)
    }

    @Test func `Closed listeners open together, and not before there is room again`() {
        #expect(listeners(after: 850, 750) == .workersOnly)
        #expect(listeners(after: 950, 850) == .closed)
        #expect(listeners(after: 950, 700) == .closed)
        #expect(listeners(after: 950, 699) == .open)
    }
}
