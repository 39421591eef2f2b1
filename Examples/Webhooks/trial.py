#!/usr/bin/env python3
"""Sends events to the web hooks service while its processes are killed and its receiver fails, and judges what arrived.

    python3 Examples/Webhooks/trial.py [--events 2000] [--endpoints 10] [--seed N]

Needs `webhooks` on the PATH and nothing beside Python. Exit 0: each event arrived at least once, under one key, and in order for each
endpoint. Ends with 1, and says why, if one of these does not hold or not all have arrived after --limit seconds.
"""

import argparse
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time


class Receiver:
    """Endpoints that count, fail at random, and are down now and then."""

    def __init__(self, seed):
        self.lock = threading.Lock()
        self.random = random.Random(seed)
        self.requests = 0
        self.failures = 0
        self.arrived = {}  # endpoint: the ids of events, each where it arrived first
        self.keys = {}  # (endpoint, id): the keys under which it came
        self.repeated = 0
        self.problems = []
        self.down = {}  # endpoint: until when
        self.fails = True
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply(receiver.health(self.path.strip("/")))

            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                endpoint = self.path.strip("/")
                self.reply(receiver.take(endpoint, self.headers["Event-Id"], self.headers["Idempotency-Key"]))

            def reply(self, status):
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            # Those who are killed hang up in the middle.
            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def health(self, endpoint):
        with self.lock:
            return 503 if self.down.get(endpoint, 0) > time.monotonic() else 200

    def take(self, endpoint, event, key):
        with self.lock:
            self.requests += 1
            self.keys.setdefault((endpoint, event), set()).add(key)
            if self.fails:
                if self.down.get(endpoint, 0) > time.monotonic():
                    self.failures += 1
                    return 503
                draw = self.random.random()
                if draw < 0.01:
                    self.down[endpoint] = time.monotonic() + 2
                if draw < 0.1:
                    self.failures += 1
                    return 500
            arrived = self.arrived.setdefault(endpoint, [])
            number = int(event)
            if number < len(arrived):
                if number != len(arrived) - 1:
                    self.problems.append(f"{endpoint}: event {number} again, after event {len(arrived) - 1}")
                self.repeated += 1
            elif number == len(arrived):
                arrived.append(number)
            else:
                self.problems.append(f"{endpoint}: event {number} before event {len(arrived)}")
            return 200

    def count(self):
        with self.lock:
            return sum(len(events) for events in self.arrived.values())


class Service:
    """`webhooks up`, and whatever it has started."""

    def __init__(self, folder, log):
        self.arguments = ["webhooks", "up", "--workers", "3", "--data", os.path.join(folder, "data")]
        self.log = log
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.arguments, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def children(self):
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                if int(fields[1]) == self.process.pid:
                    found.append(int(name))
            except (OSError, IndexError, ValueError):
                pass
        return found

    def kill_one(self, chance):
        """Kills `up` in one of ten cases, else its store or one of its workers."""
        if chance.random() < 0.1:
            self.process.kill()
            self.process.wait()
            self.start()
            return True
        children = self.children()
        if not children:
            return False
        try:
            os.kill(chance.choice(children), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def stop(self):
        """Returns a problem if something is left running. What a killed `up` has left ends by itself, a moment later."""
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        end = time.monotonic() + 30
        while left := self.users_of_data():
            if time.monotonic() > end:
                return f"still running after the end of the service: {left}"
            time.sleep(0.05)
        return None

    def users_of_data(self):
        data = os.fsencode(self.arguments[-1])
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if data in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass
        return found


def send(data, lines):
    """Sends inputs, one per line, under a session whose outbox lets it go on where it was."""
    command = ["webhooks", "send", "-", "--data", data, "--timeout", "120"]
    result = subprocess.run(command, input="\n".join(lines) + "\n", text=True, capture_output=True)
    refused = [line for line in result.stdout.splitlines() if '"applied"' not in line]
    if result.returncode != 0 or refused:
        return f"send ended with {result.returncode}: {refused[:3]} {result.stderr[-500:]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--endpoints", type=int, default=10)
    parser.add_argument("--limit", type=float, default=300, help="seconds until all must have arrived")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    receiver = Receiver(seed)
    names = [f"e{number}" for number in range(options.endpoints)]
    kills = 0
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+") as log:
        service = Service(folder, log)
        data = os.path.join(folder, "data")
        service.start()
        begun = time.monotonic()
        try:
            registered = [json.dumps({"register": {"endpoint": name, "url": f"{receiver.url}/{name}"}}) for name in names]
            problem = send(data, registered)
            if problem:
                sys.exit(problem)
            lines = [
                json.dumps({"event": {"endpoint": names[index % len(names)], "id": str(index // len(names)), "body": "{}"}})
                for index in range(options.events)
            ]
            unsent = []
            sender = threading.Thread(target=lambda: unsent.append(send(data, lines)))
            sender.start()
            while receiver.count() < options.events or sender.is_alive():
                if time.monotonic() - begun > options.limit or any(unsent):
                    break
                time.sleep(chance.uniform(0.2, 0.8))
                # In the end what is left shall arrive.
                if time.monotonic() - begun < options.limit / 2:
                    kills += service.kill_one(chance)
                else:
                    receiver.fails = False
            sender.join(timeout=60)
            problems = list(receiver.problems) + [problem for problem in unsent if problem]
            if receiver.count() != options.events:
                problems.append(f"{receiver.count()} of {options.events} events have arrived")
            shared = [f"{at} came under {len(keys)} keys" for at, keys in receiver.keys.items() if len(keys) != 1]
            problems += shared
            if len(set().union(*receiver.keys.values())) != options.events:
                problems.append("two events came under one key")
            print(
                f"{receiver.count()} of {options.events} events in {time.monotonic() - begun:.0f} s: {receiver.requests} requests, "
                f"{receiver.failures} failed, {receiver.repeated} repeated, {kills} processes killed", flush=True)
            if problems:
                log.seek(0)
                sys.exit("\n".join(problems[:20] + [log.read()[-3000:]]))
            print("each at least once, under one key, in order for each endpoint")
        finally:
            left = service.stop()
        if left:
            sys.exit(left)


if __name__ == "__main__":
    main()
