import Testing

@testable import SamovarHost

/// Which doors of a store take connections, by the file descriptors that are left.
struct DescriptorPolicyTests {
    private func doors(after numbers: Int...) -> DescriptorPolicy.Doors {
        var policy = DescriptorPolicy(limit: 1_000)
        for number in numbers { policy.update(used: number) }
        return policy.doors
    }

    @Test func `All doors are open while a fifth is free`() {
        #expect(doors() == .open)
        #expect(doors(after: 799) == .open)
    }

    @Test func `Clients are turned away first, and workers only at the very end`() {
        #expect(doors(after: 800) == .workersOnly)
        #expect(doors(after: 899) == .workersOnly)
        #expect(doors(after: 900) == .closed)
        #expect(doors(after: Int.max / 200) == .closed)
    }

    @Test func `Closed doors open together, and not before there is room again`() {
        #expect(doors(after: 850, 750) == .workersOnly)
        #expect(doors(after: 950, 850) == .closed)
        #expect(doors(after: 950, 700) == .closed)
        #expect(doors(after: 950, 699) == .open)
    }
}
