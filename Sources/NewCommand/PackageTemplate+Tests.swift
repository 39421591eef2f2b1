/// The source of the tests: the program in the store machine of production, with no process and a clock that the test moves.
extension PackageTemplate {
    /// With its module: a type that Samovar or Testing has may have the same name.
    private var tested: String { "\(name.module).\(name.type)" }

    var tests: String {
        choices.lines(
            of: """
                    import Samovar
                    import SamovarTesting
                    import Testing

                    @testable import \(name.module)

                    struct \(name.type)Tests {
                        @Test func `adding and resetting change the count`() throws {
                            let store = try TestStore(\(tested).self)
                            store.send(.add(by: 3)) { $0.count = 3 }
                            store.send(.reset) { $0.count = 0 }
                o           store.expectOutputs([.reached(count: 0)])
                            store.finish()
                        }

                        @Test func `counting past the largest number does not trap`() {
                            var state = \(tested).State(count: .max)
                            let turn = Turn(number: 1, now: Timestamp(microseconds: 0), origin: .store, secret: Secret(high: 1, low: 2))
                            _ = \(tested).update(&state, .\(add)(by: 1), turn)
                            #expect(state.count == .min)
                        }
                s
                s       @Test func `too much at once is refused`() throws {
                s           let store = try TestStore(\(tested).self)
                s           store.expectRefusal(of: .add(by: .min), .tooMuch(most: \(tested).mostAtOnce))
                s           store.finish()
                s       }
                d
                d       @Test func `doubling is work for a worker, and its answer ends it`() throws {
                d           let store = try TestStore(\(tested).self)
                d           store.send(.add(by: 4)) { $0.count = 4 }
                d           store.send(.double) { $0.isBusy = true }
                ds          store.expectRefusal(of: .double, .busy)
                d           store.expectEffects([.double(count: 4)])
                d           store.complete(.double(count: 4), with: .doubled(count: 8)) {
                d               $0.isBusy = false
                d               $0.count = 8
                d           }
                d           store.finish()
                d       }
                d
                d       @Test func `a doubling that fails for good says why`() throws {
                d           let store = try TestStore(\(tested).self)
                d           store.send(.double) { $0.isBusy = true }
                d           store.fail(.double(count: 0), .threw, "no luck") {
                d               $0.isBusy = false
                d               $0.problem = Failure(reason: .threw, text: "no luck", attempts: 1).description
                d           }
                d           store.finish()
                d       }
                i
                i       @Test func `the count grows by itself while the timer is wanted`() throws {
                i           let store = try TestStore(\(tested).self)
                i           store.send(.start) { $0.isRunning = true }
                i           store.advance(by: .seconds(2)) { $0.count = 2 }
                i           store.send(.stop) { $0.isRunning = false }
                i           store.advance(by: .seconds(2))
                i           store.finish()
                i       }
                o
                o       @Test func `reaching a ten is told to other programs`() throws {
                o           let store = try TestStore(\(tested).self)
                o           store.send(.add(by: 9)) { $0.count = 9 }
                o           store.send(.add(by: 1)) { $0.count = 10 }
                o           store.expectOutputs([.reached(count: 10)])
                o           store.finish()
                o       }
                p
                p       @Test func `the panel shows the count`() {
                p           #expect(\(tested).view(\(tested).State(count: 7)).nodes.first == .text("count 7", .strong))
                p       }
                    }

                """)
    }
}
