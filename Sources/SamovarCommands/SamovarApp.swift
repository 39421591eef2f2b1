import ArgumentParser
public import JournalChain
import MessagePack
public import SamovarCore
public import SamovarStore
import SamovarText
public import SamovarWorker

/// Makes an executable of a program, with every command of Samovar.
///
/// ```swift
/// @main
/// struct CounterApp: SamovarApp {
///     static var worker: Worker<Counter> {
///         Worker { effect, job in … }
///     }
/// }
/// ```
///
/// `counter up` starts a store and workers, `counter send '{"increment":{}}'` sends an input, `counter monitor` watches, and
/// `counter --help` lists the rest.
public protocol SamovarApp: Sendable {
    /// What the store runs.
    associatedtype Program: SamovarCore.Program

    /// What worker processes do.
    static var worker: Worker<Program> { get }

    /// Jobs that one worker process runs at once, unless `--slots` says otherwise.
    static var slots: Int { get }
    /// Jobs that wait in a worker beside the running ones: what it finishes in about 10 ms, and 0 for long jobs.
    static var readAhead: Int { get }

    /// What each input passes before `accept`, in this order. Default: nothing. The store process asks for it once, when it starts.
    static var gates: [InputGate<Program>] { get }
    /// Who hears of each turn, in this order. Default: nobody. The store process asks for it once, when it starts.
    static var observers: [TurnObserver<Program>] { get }
    /// Who hears how much work waits. Default: nobody. The store process asks for it once, when it starts.
    static var backlogObserver: BacklogObserver? { get }

    /// The kinds of journals that a store of it may have in place of the one in its data folder. Default: none.
    static var journals: [JournalKind] { get }
    /// What shows its stores in a browser. Default: nothing.
    static var page: PageKind? { get }
    /// What puts it under load. Default: nothing, and `load` says how to have it.
    static var loadTest: LoadTestKind? { get }

    /// The engine of a store, which nobody has to write: a program needs nothing of it, and `import Samovar` does not even name
    /// its type. It is a requirement only so that the default is compiled together with the program, which makes its turns several
    /// times as fast as they would be in here.
    static func engine(secret: Secret, limits: GroupLimits) -> any ProgramEngine
    /// What `load` sends if it is told nothing else, in turn, where `loadTest` is named. Default: nothing, so that it needs `--input`.
    static var sampleInputs: [Program.Input] { get }
    /// What `load` sends to a store of its own before the load, in this order; each must be applied. Default: nothing.
    static var setupInputs: [Program.Input] { get }

    /// A view in one line, for logs and pipes.
    static func line(of view: Program.ViewState) -> String
    /// A view in several lines, for a screen and for the summary at the end. What comes from outside must be escaped.
    static func screen(of view: Program.ViewState) -> String
}

extension SamovarApp {
    /// One.
    public static var slots: Int { 1 }
    /// None.
    public static var readAhead: Int { 0 }
    /// None.
    public static var gates: [InputGate<Program>] { [] }
    /// Nobody.
    public static var observers: [TurnObserver<Program>] { [] }
    /// Nobody.
    public static var backlogObserver: BacklogObserver? { nil }
    /// None.
    public static var journals: [JournalKind] { [] }
    /// Nothing.
    public static var page: PageKind? { nil }
    /// Nothing.
    public static var loadTest: LoadTestKind? { nil }
    /// None.
    public static var sampleInputs: [Program.Input] { [] }
    /// None.
    public static var setupInputs: [Program.Input] { [] }

    /// An engine of this program, with its gates and observers.
    @inlinable
    public static func engine(secret: Secret, limits: GroupLimits) -> any ProgramEngine {
        TypedEngine(Program.self, secret: secret, limits: limits, gates: gates, observers: observers)
    }

    /// The values of the view in one line, cut after 200 characters.
    public static func line(of view: Program.ViewState) -> String { ViewText.line(of: value(of: view)) }

    /// The values of the view, one below the other.
    public static func screen(of view: Program.ViewState) -> String { ViewText.screen(of: value(of: view)) }

    /// Fields as they are declared. Dictionaries and sets have the order in which a store sends them, and not that of their hashes, which is
    /// another one in each process.
    private static func value(of view: Program.ViewState) -> MessagePackValue {
        do {
            return try MessagePackValue(encoded: try MessagePackEncoder(keepingFieldsInOrder: .default).encode(view))
        } catch {
            return .string("the view cannot be encoded: \(error)")
        }
    }

    /// Runs the command that the arguments name, and exits.
    @MainActor
    public static func main() async {
        await runAsMain(ProgramCommand<Self>.self)
    }
}

/// The root command of a program's executable.
struct ProgramCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: executableName,
            abstract: "\(App.Program.schema.name), run by Samovar as a store and workers.",
            discussion: """
                Try it:
                  \(executableName) up --workers 2      a store and two workers, with a live view
                  \(executableName) status              in another terminal: how it is doing
                """,
            subcommands: [
                UpCommand<App>.self, StoreCommand<App>.self, WorkerCommand<App>.self, MonitorCommand<AppTypes<App>>.self,
                WebCommand<AppTypes<App>>.self, ExploreCommand<App>.self,
                SendCommand<AppTypes<App>>.self, ViewCommand<AppTypes<App>>.self, InspectCommand<AppTypes<App>>.self,
                StatusCommand<AppTypes<App>>.self, MetricsCommand<AppTypes<App>>.self,
                EffectsCommand<AppTypes<App>>.self, QueuesCommand<AppTypes<App>>.self,
                OutputsCommand<AppTypes<App>>.self,
                ReplayCommand<App>.self, DiffCommand<App>.self, WhyCommand<App>.self, BisectCommand<App>.self,
                WhatIfCommand<App>.self, ForkCommand<App>.self,
                CapsuleCommand<App>.self, TraceCommand<App>.self,
                VerifyCommand<App>.self, CheckCommand<App>.self, JournalCommand<AppTypes<App>>.self,
                KeysCommand<AppTypes<App>>.self, SchemaCommand<App>.self,
                App.loadTest?.command(AppTypes<App>.self) ?? MissingLoadCommand.self,
            ])
    }
}
