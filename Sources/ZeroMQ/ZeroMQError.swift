import CZeroMQ

/// Why a call to libzmq, or one of the rules of this module, failed.
///
/// ```swift
/// do {
///     try socket.bind("tcp://127.0.0.1:5555")
/// } catch where error.code == .addressInUse {
///     print(error)  // bind tcp://127.0.0.1:5555: Address already in use
/// }
/// ```
public struct ZeroMQError: Error, Hashable, Sendable {
    /// What kind of failure it was.
    public let code: Code
    /// The operation that failed, for example `bind`.
    public let operation: String
    /// The endpoint of the operation, if it has one.
    public let endpoint: String?
    /// The reason in words, as libzmq puts it or as this module does.
    public let reason: String

    init(_ code: Code, operation: String, endpoint: String? = nil, reason: String) {
        self.code = code
        self.operation = operation
        self.endpoint = endpoint
        self.reason = reason
    }

    init(errno number: Int32, operation: String, endpoint: String? = nil) {
        self.init(
            .errno(number), operation: operation, endpoint: endpoint,
            reason: zmq_strerror(number).map { String(cString: $0) } ?? "error \(number)")
    }

    /// The error that libzmq just reported on this thread.
    static func last(_ operation: String, endpoint: String? = nil) -> ZeroMQError {
        ZeroMQError(errno: zmq_errno(), operation: operation, endpoint: endpoint)
    }
}

extension ZeroMQError: CustomStringConvertible {
    public var description: String {
        if let endpoint { "\(operation) \(endpoint): \(reason)" } else { "\(operation): \(reason)" }
    }
}

extension ZeroMQError {
    /// The kinds of failure. Further kinds may come: compare with the ones you handle.
    public enum Code: Hashable, Sendable {
        /// libzmq or the operating system has failed with this number.
        case errno(Int32)
        /// A topic is longer than 200 bytes or does not end in `0x00`.
        case invalidTopic
        /// The path of an `ipc` endpoint is too long or abstract.
        case invalidEndpoint
        /// libzmq did not take over the value of a socket option.
        case optionMismatch

        /// Somebody else is bound to the endpoint.
        public static let addressInUse = Code.errno(EADDRINUSE)
        /// No file descriptor is left for this process, or no socket for this context.
        public static let tooManyDescriptors = Code.errno(EMFILE)

        /// Descriptors or memory are short, of this process or of the machine: the same call may succeed in a moment.
        package var isShortage: Bool {
            switch self {
            case .errno(EMFILE), .errno(ENFILE), .errno(ENOMEM), .errno(ENOBUFS): true
            case .errno, .invalidTopic, .invalidEndpoint, .optionMismatch: false
            }
        }
    }
}

/// Calls `operation` again for as long as a signal interrupts it.
///
/// Only for calls that wait for nothing; ``Poller/wait(timeoutMilliseconds:)`` recomputes its deadline instead.
@discardableResult
func retryingInterrupts<Result: BinaryInteger>(_ operation: () -> Result) -> Result {
    while true {
        let result = operation()
        // libzmq and the C library alike report an error as -1 with the reason in `errno`.
        if result != -1 || zmq_errno() != EINTR { return result }
    }
}

/// Makes such a call, and throws what libzmq reports.
func checked(
    _ operation: @autoclosure () -> String, endpoint: String? = nil, _ call: () -> Int32
) throws(ZeroMQError) {
    guard retryingInterrupts(call) == 0 else { throw .last(operation(), endpoint: endpoint) }
}
