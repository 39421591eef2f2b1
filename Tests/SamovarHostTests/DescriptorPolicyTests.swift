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

    @Test(arguments: [200, 1_024, 20_000, 65_536, 1 << 20])
    func `The clients that a store welcomes, and all it has itself, leave its listeners open`(_ limit: Int) {
        let clients = DescriptorPolicy.clients(limit: limit)
        var policy = DescriptorPolicy(limit: limit)
        policy.update(used: 2 * clients + 44)
        #expect(policy.listeners == .open)
        // A tenth of them all is left for workers and operators.
        policy.update(used: 2 * clients + 44 + limit / 10 - 1)
        #expect(policy.listeners == .open)
        #expect(2 * clients > limit / 10 * 7 - 44 - 2)
    }

    @Test func `A store takes one client with the fewest descriptors, too`() {
        #expect(DescriptorPolicy.clients(limit: 0) == 1 && DescriptorPolicy.clients(limit: 44) == 1)
    }

    @Test func `Closed listeners open together, and not before there is room again`() {
        #expect(listeners(after: 850, 750) == .workersOnly)
        #expect(listeners(after: 950, 850) == .closed)
        #expect(listeners(after: 950, 700) == .closed)
        #expect(listeners(after: 950, 699) == .open)
    }
}
