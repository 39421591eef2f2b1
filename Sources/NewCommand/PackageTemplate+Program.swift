/// The source of the program: a counter that has one example of everything that was chosen.
extension PackageTemplate {
    /// The names of the messages: facts if there are inputs to be decided, else what is asked for.
    private func message(_ fact: String, or request: String) -> String { choices.split ? fact : request }
    private var reset: String { message("cleared", or: "reset") }
    private var start: String { message("started", or: "start") }
    private var stop: String { message("stopped", or: "stop") }
    private var double: String { message("doubling", or: "double") }
    var add: String { message("added", or: "add") }

    var program: String {
        let status = choices.distributed ? ", status: state.isBusy ? \"working …\" : state.problem ?? \"idle\"" : ""
        let isRunning = choices.inputEvents ? ", isRunning: state.isRunning" : ""
        return choices.lines(
            of: """
                    import Samovar

                    /// What \(name.package) is: a state, what can happen to it, and what follows. Everything here is pure and runs in the store.
                SP  enum \(name.type): OpenProgram {
                s   enum \(name.type): Program {
                Sp  enum \(name.type): Program {
                        struct State: Portable {
                            var count = 0
                d           /// Whether a worker is doubling: there is never more than one at it.
                d           var isBusy = false
                d           /// Why the last doubling came to nothing.
                d           var problem: String?
                i           /// While it is set, the count grows by itself.
                i           var isRunning = false
                        }

                s       /// What outsiders may send. As JSON: `{"add":{"by":2}}`.
                s       enum Input: Portable {
                s           case add(by: Int)
                s           case reset
                sd          case double
                si          case start, stop
                s       }
                s
                s       /// What can happen. The journal keeps every one.
                S       /// What can happen, from outside or inside. As JSON: `{"add":{"by":2}}`. The journal keeps every one.
                        enum Message: Portable {
                            case \(add)(by: Int)
                            case \(reset)
                d           case \(double)
                d           case doubled(count: Int)
                d           case gaveUp(reason: String)
                i           case \(start), \(stop)
                i           case ticked
                        }

                Sp      typealias Input = Message
                Sp
                d       /// What workers can be asked to do.
                d       enum Effect: Portable {
                d           case double(count: Int)
                d       }
                d
                s       /// Why an input is turned away.
                s       enum Refusal: Error, Portable {
                s           case tooMuch(most: Int)
                sd          case busy
                s       }
                s
                s       static let mostAtOnce = 1_000
                s
                o       /// What other programs may hear of.
                o       enum Output: Portable {
                o           case reached(count: Int)
                o       }
                o
                sP      /// What outsiders see.
                sP      struct ViewState: Portable {
                sP          let count: Int
                sPd         let status: String
                sPi         let isRunning: Bool
                sP      }
                sP
                        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<\(name.type)> {
                            .state(State())
                        }

                Sp      static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message {
                Sp          input
                Sp      }
                Sp
                s       static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
                s           switch input {
                s           case .add(let step):
                s               guard (-mostAtOnce...mostAtOnce).contains(step) else { throw .tooMuch(most: mostAtOnce) }
                s               return .added(by: step)
                s           case .reset: return .cleared
                sd          case .double:
                sd              if state.isBusy { throw .busy }
                sd              return .doubling
                si          case .start: return .started
                si          case .stop: return .stopped
                s           }
                s       }
                s
                        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<\(name.type)> {
                o           let before = state.count
                            switch message {
                            // Wrapping: a trap in `update` would end the store.
                            case .\(add)(let step): state.count &+= step
                            case .\(reset): state.count = 0
                d           case .\(double):
                Sd              if state.isBusy { return .none }
                d               state.isBusy = true
                d               state.problem = nil
                d               return .run(.double(count: state.count), retry: .times(3), timeout: .seconds(10))
                d           case .doubled(let count):
                d               state.isBusy = false
                d               state.count = count
                d           case .gaveUp(let reason):
                d               state.isBusy = false
                d               state.problem = reason
                i           case .\(start): state.isRunning = true
                i           case .\(stop): state.isRunning = false
                i           case .ticked: state.count &+= 1
                            }
                o           // Each time a ten is reached, other programs hear of it.
                o           return state.count != before && state.count.isMultiple(of: 10) ? .emit(.reached(count: state.count)) : .none
                O           return .none
                        }
                i
                i       /// Looked at after each turn: the timer runs for as long as the state wants it, also over restarts.
                i       static func subscriptions(_ state: State) -> [Subscription<\(name.type)>] {
                i           state.isRunning ? [.every(.seconds(1), id: "tick", send: .ticked)] : []
                i       }
                sP
                sP      static func view(_ state: State) -> ViewState {
                sP          ViewState(count: state.count\(status)\(isRunning))
                sP      }
                p
                p       /// The user interface: `\(name.package) monitor` draws it, and its buttons can be pressed there.
                p       static func view(_ state: State) -> Panel<Input> {
                p           Panel(
                p               "\(name.type)",
                p               [
                p                   .text("count \\(state.count)", .strong),
                p                   .columns([
                p                       .button("+1", send: .add(by: 1)), .button("−1", send: .add(by: -1)), .button("reset", send: .reset),
                p                   ]),
                p                   .integerField("Add") { .add(by: $0) },
                pd                  .button("double", send: .double),
                pd                  .text(state.isBusy ? "working …" : state.problem ?? "idle", .quiet),
                pi                  state.isRunning ? .button("stop", send: .stop) : .button("start", send: .start),
                p               ])
                p       }
                d
                d       /// What follows when an effect has failed for good.
                d       static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
                d           .gaveUp(reason: failure.description)
                d       }
                    }

                """)
    }
}
