import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// Where a peer looks for its store, attempt by attempt.
@Suite struct ConnectionPlanTests {
    private func open(_ address: String, endpoint: Int = 0, key: Int = 0) -> ConnectionPlan.Step {
        .open(ConnectionPlan.Place(endpoint: endpoint, address: address, key: key))
    }

    @Test func `The only place is tried again and again`() {
        var plan = ConnectionPlan([.address("a")])
        for _ in 0..<3 { #expect(plan.next() == open("a")) }
        #expect(plan.places == 1)
    }

    @Test func `Endpoints have their turn in their order, around and around`() {
        var plan = ConnectionPlan([.address("a"), .address("b")])
        #expect(plan.next() == open("a"))
        #expect(plan.next() == open("b", endpoint: 1))
        #expect(plan.next() == open("a"))
        #expect(plan.places == 2)
    }

    @Test func `A place that served is tried again before the others`() {
        var plan = ConnectionPlan([.address("a"), .address("b")])
        _ = plan.next()
        _ = plan.next()
        plan.served()
        #expect(plan.next() == open("b", endpoint: 1))
        #expect(plan.next() == open("a"))
    }

    @Test func `A plan that follows another goes where that stands, and stays there`() {
        var front = ConnectionPlan([.address("a/front"), .address("b/front"), .name("store")])
        var view = ConnectionPlan([.address("a/view"), .address("b/view"), .name("store")])
        _ = view.next()
        _ = front.next()
        #expect(view.follow(front) == false)
        _ = front.next()
        #expect(view.follow(front) == true)
        #expect(view.follow(front) == false)
        for _ in 0..<2 {
            #expect(view.next() == open("b/view", endpoint: 1))
            #expect(view.follow(front) == false)
        }
        for address in ["one", "two"] {
            #expect(front.next() == .resolve("store"))
            #expect(front.resolved(["one", "two"]) == open(address, endpoint: 2))
            #expect(view.follow(front) == true, "also to another address of the same name")
            #expect(view.next() == .resolve("store"))
            #expect(view.resolved(["one", "two"]) == open(address, endpoint: 2))
        }
    }

    @Test func `A plan that follows another to the same address at another endpoint goes elsewhere, for the port may differ`() {
        var front = ConnectionPlan([.name("one"), .name("two")])
        var view = ConnectionPlan([.name("one"), .name("two")])
        _ = view.next()
        #expect(view.resolved(["a"]) == open("a"))
        _ = front.next()
        #expect(front.resolved(["a"]) == open("a"))
        #expect(front.next() == .resolve("two"))
        #expect(front.resolved(["a"]) == open("a", endpoint: 1))
        #expect(view.follow(front) == true)
        #expect(view.next() == .resolve("two"))
        #expect(view.resolved(["a"]) == open("a", endpoint: 1))
    }

    @Test func `Each key is tried at a place before the next place`() {
        var plan = ConnectionPlan([.address("a"), .address("b")])
        let steps = (0..<5).map { _ in plan.next(keys: 2) }
        #expect(
            steps == [
                open("a"), open("a", key: 1), open("b", endpoint: 1), open("b", endpoint: 1, key: 1), open("a"),
            ])
        #expect(plan.places == 4)
    }

    @Test func `A key that is taken away while it is tried is not tried any more`() {
        var plan = ConnectionPlan([.address("a")])
        _ = plan.next(keys: 2)
        #expect(plan.next(keys: 2) == open("a", key: 1))
        plan.served()
        #expect(plan.next(keys: 1) == open("a"))
        #expect(plan.places == 1)
    }

    @Test func `A name that cannot be looked up is tried with no other key, also where it has served`() {
        for hasServed in [false, true] {
            var plan = ConnectionPlan([.name("store"), .address("b")])
            if hasServed {
                _ = plan.next(keys: 2)
                #expect(plan.resolved(["a"]) == open("a"))
                plan.served()
            }
            #expect(plan.next(keys: 2) == .resolve("store"))
            #expect(plan.resolved([]) == nil)
            #expect(plan.next(keys: 2) == open("b", endpoint: 1))
        }
    }

    // MARK: Names

    @Test func `A name is looked up at each attempt, and its addresses are tried in the order of the answer`() {
        var plan = ConnectionPlan([.name("store")])
        #expect(plan.next() == .resolve("store"))
        #expect(plan.resolved(["six", "four"]) == open("six"))
        #expect(plan.places == 2)
        #expect(plan.next() == .resolve("store"))
        #expect(plan.resolved(["six", "four"]) == open("four"))
        #expect(plan.next() == .resolve("store"))
        #expect(plan.resolved(["six", "four"]) == open("six"))
    }

    @Test func `A store that has moved is found by the fresh answer, also where the one before served`() {
        var plan = ConnectionPlan([.name("store")])
        _ = plan.next()
        #expect(plan.resolved(["old"]) == open("old"))
        plan.served()
        _ = plan.next()
        #expect(plan.resolved(["new"]) == open("new"))
        _ = plan.next()
        #expect(plan.resolved(["newest", "new"]) == open("newest"))
    }

    @Test func `An answer in another order leaves none out`() {
        var plan = ConnectionPlan([.name("store")])
        _ = plan.next()
        #expect(plan.resolved(["a", "b", "c"]) == open("a"))
        _ = plan.next()
        #expect(plan.resolved(["c", "a", "b"]) == open("c"))
        _ = plan.next()
        #expect(plan.resolved(["b", "c", "a"]) == open("b"))
    }

    @Test func `The turn of a name begins anew where it has served, and its other addresses come before the next endpoint`() {
        var plan = ConnectionPlan([.name("store"), .address("b")])
        _ = plan.next()
        #expect(plan.resolved(["six", "four"]) == open("six"))
        _ = plan.next()
        #expect(plan.resolved(["six", "four"]) == open("four"))
        plan.served()
        for address in ["four", "six"] {
            #expect(plan.next() == .resolve("store"))
            #expect(plan.resolved(["six", "four"]) == open(address))
        }
        #expect(plan.next() == open("b", endpoint: 1))
    }

    @Test func `Both keys are tried at an address of a name, though it is looked up in between`() {
        var plan = ConnectionPlan([.name("store")])
        _ = plan.next(keys: 2)
        #expect(plan.resolved(["a", "b"]) == open("a"))
        _ = plan.next(keys: 2)
        #expect(plan.resolved(["b", "a"]) == open("a", key: 1))
        _ = plan.next(keys: 2)
        #expect(plan.resolved(["b", "a"]) == open("b"))
        #expect(plan.places == 4)
    }

    @Test func `A name without an answer fails the attempt, and the next endpoint has its turn`() {
        var plan = ConnectionPlan([.name("nowhere"), .address("b")])
        #expect(plan.next() == .resolve("nowhere"))
        #expect(plan.resolved([]) == nil)
        #expect(plan.next() == open("b", endpoint: 1))
        #expect(plan.next() == .resolve("nowhere"))
        #expect(plan.places == 2)
    }

    /// Its look-up hangs, and the attempt has ended by its time.
    @Test func `A name that has not answered yet does not keep the others from their turn`() {
        var plan = ConnectionPlan([.name("slow"), .name("quick")])
        #expect(plan.next() == .resolve("slow"))
        #expect(plan.next() == .resolve("quick"))
        #expect(plan.resolved(["a"]) == open("a", endpoint: 1))
        #expect(plan.next() == .resolve("slow"))
    }

    @Test func `Where the fresh answer has nothing new, the next endpoint has its turn at once`() {
        var plan = ConnectionPlan([.name("store"), .address("b")])
        _ = plan.next()
        _ = plan.resolved(["six", "four"])
        #expect(plan.next() == .resolve("store"))
        #expect(plan.resolved(["six"]) == open("b", endpoint: 1))
    }

    @Test func `Of a name with hundreds of addresses a few are tried`() {
        var plan = ConnectionPlan([.name("store")])
        _ = plan.next()
        _ = plan.resolved((0..<500).map { "\($0)" })
        #expect(plan.places == ConnectionPlan.maximumAddresses)
    }
}
