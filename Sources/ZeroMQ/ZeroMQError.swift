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
            Code(errno: number), operation: operation, endpoint: endpoint,
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
    public struct Code: Hashable, Sendable {
        private enum Cause: Hashable {
            case errno(Int32)
            case invalidTopic, invalidEndpoint, optionMismatch, socketsOpen
        }

        private let cause: Cause

        init(errno number: Int32) { cause = .errno(number) }
        private init(_ cause: Cause) { self.cause = cause }

        /// The error number, if the failure came from libzmq or the operating system.
        public var errno: Int32? {
            if case .errno(let number) = cause { number } else { nil }
        }

        /// Somebody else is bound to the endpoint.
        public static let addressInUse = Code(errno: EADDRINUSE)
        /// The endpoint names an address that this machine does not have.
        public static let addressNotAvailable = Code(errno: EADDRNOTAVAIL)
        /// The operating system denies the operation.
        public static let accessDenied = Code(errno: EACCES)
        /// No file descriptor is left for this process, or no socket for this context.
        public static let tooManyDescriptors = Code(errno: EMFILE)
        /// The context was closed.
        public static let terminated = Code(errno: ETERM)
        /// A topic is longer than 200 bytes or does not end in `0x00`.
        public static let invalidTopic = Code(.invalidTopic)
        /// The path of an `ipc` endpoint is too long or abstract.
        public static let invalidEndpoint = Code(.invalidEndpoint)
        /// libzmq did not take over the value of a socket option.
        public static let optionMismatch = Code(.optionMismatch)
        /// The context cannot be closed while some of its sockets are open.
        public static let socketsOpen = Code(.socketsOpen)
    }
}
