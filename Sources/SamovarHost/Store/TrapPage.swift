import Foundation
import Journal
import JournalChain
import SamovarStore

/// The page of a `TrapMarker`, mapped from the file `marker` of a data folder, and the signals that are noted in it.
///
/// The file is written in full before it is mapped, so that a full disk cannot turn a store into memory into a SIGBUS. Where it
/// cannot be mapped, the store works without: it then cannot know what the process before it died of.
final class TrapPage {
    let memory: UnsafeMutableRawPointer
    private let isMapped: Bool
    private var isKept = false
    private let file: String
    /// What the file held; nil if there was none.
    private let former: [UInt8]?

    init(in dataFolder: String, warn: (String) -> Void) {
        file = dataFolder + "/marker"
        var former: [UInt8]?
        if let memory = Self.map(file, &former) {
            self.memory = memory
            isMapped = true
            TrapSignals.watch(memory)
        } else {
            warn("\(file) cannot be mapped (\(String(cString: strerror(errno)))): items that end the store are not quarantined")
            memory = .allocate(byteCount: TrapMarker.byteCount, alignment: 8)
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
            isMapped = false
        }
        self.former = former
    }

    /// How far a journal had come when it was last marked here.
    var markedEnd: MarkedEnd.Reading { MarkedEnd.reading(UnsafeRawBufferPointer(start: memory, count: TrapMarker.byteCount)) }

    /// Runs what may find that the store cannot serve: then the file is left as it was found, like all others of the folder. Only a
    /// death of the program is remembered, which is what the file is there for.
    func restoring<Result: ~Copyable>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError where error.code != .program {
            restore()
            throw error
        }
    }

    private func restore() {
        guard isMapped else { return }
        guard let former else {
            unlink(file)
            return
        }
        // The file has the length of a page since it was mapped; what was longer has kept its end.
        memory.copyMemory(from: former, byteCount: min(former.count, TrapMarker.byteCount))
        if former.count < TrapMarker.byteCount { truncate(file, off_t(former.count)) }
    }

    /// Another thread still writes to the page: it stays until the process ends.
    func keep() { isKept = true }

    /// Ends the watch. The page must not be used after it.
    func end() {
        if isMapped { TrapSignals.end() }
        guard !isKept else { return }
        if isMapped {
            munmap(memory, TrapMarker.byteCount)
        } else {
            memory.deallocate()
        }
    }

    private static func map(_ file: String, _ former: inout [UInt8]?) -> UnsafeMutableRawPointer? {
        let isThere = access(file, F_OK) == 0
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: TrapMarker.byteCount)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        if isThere { former = Array(bytes.prefix(max(0, count))) }
        // A file of another length is not ours, or was cut off.
        if count != bytes.count { bytes = [UInt8](repeating: 0, count: bytes.count) }
        guard writeAll(bytes, at: 0, of: descriptor) == 0 else { return nil }
        let memory = mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        return memory == MAP_FAILED ? nil : memory
    }
}

/// Notes in the marker's page that the thread of the calls has raised a signal itself: a trap, a stack that overflowed, an abort.
///
/// That is what tells a poison from a SIGKILL, which nobody can handle: a mark without a signal proves nothing. The handler
/// stores two words, puts the former action back, and lets the signal happen again.
enum TrapSignals {
    private static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]
    /// For the handler when the thread's own stack is used up.
    private static let stackBytes = 64 << 10

    /// Watches the calling thread. One at a time in a process; a second watch does nothing.
    static func watch(_ memory: UnsafeMutableRawPointer) {
        guard watched == nil else { return }
        let new = UnsafeMutablePointer<Watched>.allocate(capacity: 1)
        let former = UnsafeMutablePointer<sigaction>.allocate(capacity: Watched.signalLimit)
        former.initialize(repeating: sigaction(), count: Watched.signalLimit)
        let stack = UnsafeMutableRawPointer.allocate(byteCount: stackBytes, alignment: 16)
        new.initialize(to: Watched(memory: memory, thread: pthread_self(), former: former, stack: stack))
        watched = new
        useAlternateStack(stack)
        for signal in signals {
            var action = sigaction()
            #if canImport(Darwin)
            action.__sigaction_u.__sa_sigaction = noteTrap
            #elseif canImport(Musl)
            action.__sa_handler.sa_sigaction = noteTrap
            #else
            action.__sigaction_handler.sa_sigaction = noteTrap
            #endif
            action.sa_flags = CInt(SA_SIGINFO) | CInt(SA_ONSTACK)
            sigemptyset(&action.sa_mask)
            sigaction(signal, &action, former + Int(signal))
        }
    }

    /// The number of the calling thread.
    static var thread: UInt64 {
        #if canImport(Glibc)
        UInt64(pthread_self())
        #else
        UInt64(UInt(bitPattern: pthread_self()))
        #endif
    }

    /// For another thread that calls the program: it may use up its stack, too.
    static func withAlternateStack(_ body: () -> Void) {
        let stack = UnsafeMutableRawPointer.allocate(byteCount: stackBytes, alignment: 16)
        useAlternateStack(stack)
        body()
        leaveAlternateStack()
        stack.deallocate()
    }

    private static func useAlternateStack(_ stack: UnsafeMutableRawPointer) {
        var alternate = stack_t()
        alternate.ss_sp = stack
        alternate.ss_size = stackBytes
        sigaltstack(&alternate, nil)
    }

    private static func leaveAlternateStack() {
        var none = stack_t()
        none.ss_flags = CInt(SS_DISABLE)
        sigaltstack(&none, nil)
    }

    /// Puts everything back. On the thread that called `watch`.
    static func end() {
        guard let old = watched else { return }
        for signal in signals { sigaction(signal, old.pointee.former + Int(signal), nil) }
        leaveAlternateStack()
        watched = nil
        old.pointee.stack.deallocate()
        old.pointee.former.deallocate()
        old.deallocate()
    }
}

private struct Watched {
    let memory: UnsafeMutableRawPointer
    let thread: pthread_t
    let former: UnsafeMutablePointer<sigaction>
    let stack: UnsafeMutableRawPointer

    /// Above every number in `signals`.
    static let signalLimit = 32
}

// Set before the handlers are, and reset after them; they only read it.
nonisolated(unsafe) private var watched: UnsafeMutablePointer<Watched>?

private func noteTrap(_ signal: CInt, _ info: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeMutableRawPointer?) {
    guard let watched else { return }
    let code = info?.pointee.si_code ?? 0
    // What another process sends is no trap. `abort` sends to its own thread.
    let isSent = code <= 0
    let isAbort = signal == SIGABRT && code == ownThread
    if !isSent || isAbort {
        if pthread_equal(pthread_self(), watched.pointee.thread) != 0 {
            TrapMarker.note(signal: signal, in: watched.pointee.memory)
        } else {
            MaintenanceMark(watched.pointee.memory).note(signal: signal, thread: TrapSignals.thread)
        }
    }
    sigaction(signal, watched.pointee.former + Int(signal), nil)
    // An instruction that traps does so again by itself.
    if isSent { raise(signal) }
}

#if canImport(Darwin)
private let ownThread: CInt = 0
#else
/// SI_TKILL
private let ownThread: CInt = -6
#endif
