import Foundation
import ProcessSupport

/// A headless Chromium, which is told what to do by its protocol for developers, over two pipes.
///
/// Used by one task. https://chromedevtools.github.io/devtools-protocol/
final class Browser {
    /// Debian's name, or that of others.
    static let program: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
        return path.flatMap { ["\($0)/chromium", "\($0)/chromium-browser", "\($0)/google-chrome"] }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    private let child: Child
    private let input: Int32
    private let output: Int32
    private var received: [UInt8] = []
    private var asked = 0
    private var session: String?
    /// What it says unasked, by name, with the parameters.
    private(set) var events: [(name: String, parameters: [String: Any])] = []

    /// - Parameter width: of the window, in pixels.
    init(width: Int = 1_000, in scratch: Scratch) async throws {
        guard let program = Self.program else { throw TimedOut("there is no Chromium") }
        let (asks, answers) = (scratch.folder("browser.in"), scratch.folder("browser.out"))
        for pipe in [asks, answers] where mkfifo(pipe, 0o600) != 0 { throw TimedOut("cannot make \(pipe)") }
        // Opened for both, so that neither side waits for the other.
        input = open(asks, O_RDWR | O_CLOEXEC)
        output = open(answers, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        var flags = [
            "--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--user-data-dir=\(scratch.folder("browser"))", "--window-size=\(width),800",
        ]
        // Root has no sandbox.
        if geteuid() == 0 { flags.append("--no-sandbox") }
        let script = #"in=$1 out=$2; shift 2; exec "$@" 3<"$in" 4>"$out""#
        child = try Child("sh", ["-c", script, "browser", asks, answers, program] + flags, in: scratch)
        let target = try await ask("Target.createTarget", ["url": "about:blank"])
        let attached = try await ask("Target.attachToTarget", ["targetId": target["targetId"] ?? "", "flatten": true])
        session = attached["sessionId"] as? String
        for domain in ["Page", "Runtime", "Log", "Network"] { try await ask("\(domain).enable") }
        try await ask(
            "Emulation.setDeviceMetricsOverride", ["width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false])
    }

    deinit {
        child.send(SIGTERM)
        close(input)
        close(output)
    }

    // MARK: The protocol

    @discardableResult
    func ask(_ method: String, _ parameters: [String: Any] = [:]) async throws -> [String: Any] {
        asked += 1
        let id = asked
        var message: [String: Any] = ["id": id, "method": method, "params": parameters]
        if let session { message["sessionId"] = session }
        var bytes = Array(try JSONSerialization.data(withJSONObject: message)) + [0]
        while !bytes.isEmpty {
            let sent = write(input, bytes, bytes.count)
            guard sent > 0 else { throw TimedOut("Chromium hears nothing: \(child.errors)") }
            bytes.removeFirst(sent)
        }
        return try await eventually("Chromium answers \(method): \(child.errors)") {
            for message in self.take() {
                guard message["id"] as? Int == id else { continue }
                if let error = message["error"] { throw TimedOut("\(method): \(error)") }
                return message["result"] as? [String: Any] ?? [:]
            }
            return nil
        }
    }

    /// Messages that have come; those that nobody has asked for are kept.
    private func take() -> [[String: Any]] {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(output, &bytes, bytes.count)
            guard count > 0 else { break }
            received += bytes.prefix(count)
        }
        guard let end = received.lastIndex(of: 0) else { return [] }
        let whole = received[..<end].split(separator: 0)
        received.removeSubrange(...end)
        let messages = whole.compactMap { try? JSONSerialization.jsonObject(with: Data($0)) as? [String: Any] }
        for message in messages {
            guard let name = message["method"] as? String else { continue }
            events.append((name, message["params"] as? [String: Any] ?? [:]))
        }
        return messages
    }

    // MARK: What a person does and sees

    func visit(_ address: String) async throws {
        try await ask("Page.navigate", ["url": address])
    }

    /// The value of an expression of JavaScript.
    func value(_ expression: String) async throws -> Any? {
        let answer = try await ask("Runtime.evaluate", ["expression": expression, "returnByValue": true, "awaitPromise": true])
        if let problem = answer["exceptionDetails"] as? [String: Any] { throw TimedOut("\(expression): \(problem)") }
        return (answer["result"] as? [String: Any])?["value"]
    }

    func text(of selector: String = "body") async throws -> String {
        try await value("document.querySelector('\(selector)')?.innerText ?? ''") as? String ?? ""
    }

    /// Waits until the page shows it.
    func shows(_ text: String, in selector: String = "body") async throws {
        try await eventually("the page shows “\(text)”") { try await self.text(of: selector).contains(text) }
    }

    /// By the mouse, in the middle of the element that an expression gives, as soon as it keeps its place: what is still drawn above it would
    /// push it away from under the mouse. A click that missed it for that reason is made again.
    func click(_ element: String) async throws {
        try await eventually("a click hits \(element)") {
            let place =
                try await self.value(
                    """
                    (() => { const e = \(element); if (!e) return null; e.scrollIntoView({block: 'center'});
                    const r = e.getBoundingClientRect(), place = [r.x + r.width / 2, r.y + r.height / 2];
                    const stays = String(place) === window.placeToClick; window.placeToClick = String(place);
                    if (!stays) return null;
                    window.hasMissed = true; e.addEventListener('click', () => { window.hasMissed = false; }, {once: true, capture: true});
                    return place; })()
                    """) as? [Double]
            guard let place else { return false }
            for type in ["mousePressed", "mouseReleased"] {
                try await self.ask(
                    "Input.dispatchMouseEvent", ["type": type, "x": place[0], "y": place[1], "button": "left", "clickCount": 1])
            }
            // Another document, to which the click has led, does not know of it.
            return try await self.value("window.hasMissed ?? false") as? Bool == false
        }
    }

    func type(_ text: String) async throws { try await ask("Input.insertText", ["text": text]) }

    func press(_ key: String, code: Int) async throws {
        for type in ["keyDown", "keyUp"] {
            var event: [String: Any] = ["type": type, "key": key, "windowsVirtualKeyCode": code]
            if key == "Enter", type == "keyDown" { event["text"] = "\r" }
            try await ask("Input.dispatchKeyEvent", event)
        }
    }

    /// In PNG.
    func screenshot() async throws -> Data {
        let answer = try await ask("Page.captureScreenshot", ["format": "png"])
        return (answer["data"] as? String).flatMap { Data(base64Encoded: $0) } ?? Data()
    }

    /// What went wrong in it: broken policies, errors of scripts, whatever its console says.
    var complaints: [String] {
        events.compactMap { name, parameters in
            switch name {
            case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled": "\(parameters)"
            default: nil
            }
        }
    }

    /// Where it has asked for something.
    var requests: [String] {
        events.filter { $0.name == "Network.requestWillBeSent" || $0.name == "Network.webSocketCreated" }.compactMap { event in
            (event.parameters["request"] as? [String: Any])?["url"] as? String ?? event.parameters["url"] as? String
        }
    }
}
