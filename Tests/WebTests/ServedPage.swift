import Foundation
import ProcessSupport

/// A page that is served, and its store.
final class ServedPage: Sendable {
    let scratch: Scratch
    private let program: String
    let data: String
    let store: Child
    let page: Child
    let port: UInt16
    let token: String
    /// As the server gives it for the token.
    let cookie: String

    /// - Parameters:
    ///   - descriptors: so many does the server get.
    ///   - doors: further arguments of the store, and of the server.
    ///   - variables: of the server's environment.
    ///   - storeVariables: of the store's.
    ///   - storeIsDown: it has served, and has ended before the page is started.
    init(
        _ program: String = Executable.tally, tool: String? = nil, descriptors: Int? = nil, in scratch: Scratch? = nil,
        data: String? = nil,
        doors: (store: [String], page: [String]) = ([], []), variables: [String: String] = [:],
        storeVariables: [String: String] = [:], storeIsDown: Bool = false
    ) async throws {
        let scratch = try scratch ?? Scratch()
        (self.scratch, self.program) = (scratch, program)
        let data = data ?? scratch.folder("data")
        self.data = data
        store = try Child(program, ["store", "--data", data] + doors.store, in: scratch, variables: storeVariables)
        if storeIsDown {
            try await eventually("the store serves: \(store.errors)") { [store] in store.errors.contains("serving") }
            store.send(SIGTERM)
            try await store.wait()
        }
        // Where none is, a page keeps no token.
        try await eventually("the folder is there: \(store.errors)") { FileManager.default.fileExists(atPath: data) }
        let limit = descriptors.map { "ulimit -n \($0); " } ?? ""
        page = try Child(
            "sh", ["-c", limit + #"exec "$@""#, "sh", tool ?? program, "web", "--data", data, "--port", "0"] + doors.page,
            in: scratch, variables: variables)
        let (store, page) = (store, page)
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        let line = try await eventually("the page is there: \(page.errors)") {
            page.output.firstMatch(of: /http:\/\/127\.0\.0\.1:([0-9]+)\/#t=([0-9a-f]{64})\n/)
        }
        port = UInt16(line.1) ?? 0
        token = String(line.2)
        let host = "127.0.0.1:\(port)"
        let answer = try Self.ask(
            port, "/api/v1/token", ["Host: \(host)", "Origin: http://\(host)", "X-Samovar: 1"], method: "POST",
            body: #"{"token":"\#(token)"}"#)
        guard let set = answer.text.firstMatch(of: /Set-Cookie: (samovar-[0-9]+=[0-9a-f]{64});/) else {
            throw TimedOut(answer.text)
        }
        cookie = String(set.1)
    }

    var address: String { "http://127.0.0.1:\(port)/#t=\(token)" }
    var host: String { "127.0.0.1:\(port)" }

    func command(_ arguments: String...) async throws -> String {
        let child = try Child(program, arguments + ["--data", data], in: scratch)
        try await child.wait()
        return child.output
    }

    /// What the server answers to these bytes until it closes the connection, or nothing comes any more.
    func raw(_ text: String) throws -> String { try Self.raw(port, text) }

    /// A connection; the caller closes it.
    static func connection(_ port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            close(descriptor)
            throw TimedOut("no server at port \(port)")
        }
        return descriptor
    }

    /// A connection on which views are told, as a browser opens it; the caller closes it.
    func openBrowser() throws -> Int32 {
        let lines = [
            "GET /api/v1/live HTTP/1.1", "Host: \(host)", "Origin: http://\(host)", "Cookie: \(cookie)", "Connection: Upgrade",
            "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: \(Data(count: 16).base64EncodedString())",
        ]
        let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        let descriptor = try Self.connection(port)
        var answer = [UInt8](repeating: 0, count: "HTTP/1.1 101".utf8.count)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count,
            recv(descriptor, &answer, answer.count, Int32(MSG_WAITALL)) == answer.count,
            String(decoding: answer, as: UTF8.self) == "HTTP/1.1 101"
        else {
            close(descriptor)
            throw TimedOut("no views are told: \(String(decoding: answer, as: UTF8.self))")
        }
        return descriptor
    }

    private static func raw(_ port: UInt16, _ text: String) throws -> String {
        let descriptor = try connection(port)
        defer { close(descriptor) }
        var sent = Array(text.utf8)[...]
        while !sent.isEmpty {
            let count = sent.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { break }
            sent = sent.dropFirst(count)
        }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var answer: [UInt8] = []
        while true {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            answer += bytes.prefix(count)
        }
        return String(decoding: answer, as: UTF8.self)
    }

    func ask(
        _ path: String, _ headers: [String] = [], method: String = "GET", body: String? = nil
    ) throws -> (status: Int, text: String) {
        try Self.ask(port, path, headers, method: method, body: body)
    }

    private static func ask(
        _ port: UInt16, _ path: String, _ headers: [String], method: String, body: String?
    ) throws -> (status: Int, text: String) {
        var lines = ["\(method) \(path) HTTP/1.1", "Connection: close"] + headers
        if !headers.contains(where: { $0.hasPrefix("Host:") }) { lines.append("Host: 127.0.0.1:\(port)") }
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        let answer = try raw(port, lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
        return (answer.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0, answer)
    }

    func post(_ path: String, _ body: String) throws -> String {
        let answer = try ask(
            path, ["Origin: http://\(host)", "X-Samovar: 1", "Cookie: \(cookie)"], method: "POST", body: body)
        return answer.text.components(separatedBy: "\r\n\r\n").last ?? ""
    }
}
