import CZeroMQ

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
