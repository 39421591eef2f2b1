"""A worker of the Counter example in another language: python3 counter_worker.py ipc:///FOLDER/work. See docs/protocol.md."""
import argparse, os, random, signal, struct, sys, time
import msgpack, zmq

HELLO, WELCOME, ERROR, PING, PONG, GOODBYE, DRAIN = 1, 2, 3, 4, 5, 6, 7
CREDIT, TASK, RESULT, ACKNOWLEDGE, CANCEL = 32, 33, 34, 35, 36
UNKNOWN_PEER, RETRY_LATER, RESYNC = 3, 5, 6  # after any other code, to come back would change nothing

def frame(kind, timeline, number=0, body=None):
    header = struct.pack(">5sBH16sq", b"SMV1\1", kind, 0, timeline, number)
    return [header] if body is None else [header, msgpack.packb(body)]
def parse(parts):
    magic, kind, _, timeline, number = struct.unpack(">5sBH16sq", parts[0])
    if magic != b"SMV1\1": raise ValueError("not a frame of wire version 1")
    return kind, timeline, number, msgpack.unpackb(parts[1]) if len(parts) > 1 else None
def execute(payload):
    try: return [0, [msgpack.packb({"finished": {"count": msgpack.unpackb(payload)["addOne"]["to"] + 1}})]]
    except Exception as error: return [1, ["unhandled", str(error), True]]  # permanent: another attempt would fail alike

class Worker:
    def __init__(self, address, slots, delay):
        self.address, self.slots, self.delay = address, slots, delay
        self.id, self.timeline, self.witness, self.attempt = os.urandom(16), bytes(16), 0, 0
        self.running, self.results = {}, {}  # by lease: (claim, payload, when it is done), and what is not acknowledged
        self.socket, self.pause, self.stopping = None, 0.1, None

    def send(self, kind, number=0, body=None):
        try: self.socket.send_multipart(frame(kind, self.timeline, number, body), zmq.DONTWAIT)
        except zmq.Again: pass  # nobody is there: silence will tell, and all that matters is said again after HELLO

    def connect(self):  # a new socket each time, so that nothing old waits in it
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        for option, value in ((zmq.LINGER, 0), (zmq.IMMEDIATE, 1), (zmq.RECONNECT_IVL, -1)): self.socket.setsockopt(option, value)
        self.socket.connect(self.address)
        if self.socket.poll(1000, zmq.POLLOUT): self.greet()
        else: self.lose("nobody is there")
    def greet(self):
        self.attempt, self.taken, self.credit, self.welcomed, self.drained = self.attempt + 1, 0, 0, False, False
        self.heard, self.sent, self.repeat, self.silence = time.monotonic(), 0.0, 0.0, 2.0
        claims = [job[0] for job in self.running.values()] + [result[:4] for result in self.results.values()]
        self.send(HELLO, self.attempt, [["Counter", 1], self.witness, "worker", [self.id, self.slots, ["default"], claims]])
    def lose(self, reason, wait=0.0):
        print(f"no store: {reason}", file=sys.stderr)
        self.socket = self.socket.close()
        time.sleep(wait + random.uniform(0, self.pause))
        self.pause = min(self.pause * 2, 1.0)
    def take(self, kind, timeline, number, body):
        if kind == ERROR:
            code, text, _, wait = body
            if code == UNKNOWN_PEER: self.greet()
            elif code == RETRY_LATER: self.lose(text, min(wait / 1000, 60))
            elif code != RESYNC: sys.exit(f"the store refuses: {text}")
        elif kind == WELCOME and not self.welcomed:
            if self.timeline not in (timeline, bytes(16)): self.running, self.results, self.witness = {}, {}, 0
            self.timeline, self.witness, self.silence = timeline, max(self.witness, body[4]), max(body[5] / 1000, 2.0)
            self.welcomed, self.pause, self.heard = True, 0.1, time.monotonic()
        elif self.welcomed and timeline == self.timeline:
            self.heard = time.monotonic()
            if kind == GOODBYE: self.lose("it closes")
            elif kind == PING: self.send(PONG, number)
            elif kind == DRAIN: print("the store is about to stop", file=sys.stderr)
            elif kind == TASK:
                self.taken = max(self.taken + len(body), number)
                for turn, ordinal, lease, token, *_, payload in body:
                    self.witness, claim, key = max(self.witness, turn), [turn, ordinal, lease, token], tuple(lease)
                    if key not in self.results: self.running.setdefault(key, (claim, payload, time.monotonic() + self.delay))
            elif kind in (ACKNOWLEDGE, CANCEL):
                for jobs in [self.results] + [self.running] * (kind == CANCEL):
                    for lease in body: jobs.pop(tuple(lease), None)

    def stop(self, *_): self.stopping = self.stopping or time.monotonic() + 5
    def flush(self, now):
        if self.stopping and not self.drained: self.drained = True; self.send(DRAIN)
        for key in [key for key, job in self.running.items() if self.stopping or job[2] <= now]:
            claim, payload, _ = self.running.pop(key)
            self.results[key], self.repeat = claim + ([2, None] if self.stopping else execute(payload)), 0.0
        room = 0 if self.stopping else self.taken + self.slots - len(self.running)  # the tasks since HELLO that there is room for
        if room > self.credit: self.credit = room; self.send(CREDIT, room)
        if self.results and now >= self.repeat:
            self.repeat = now + self.silence; self.send(RESULT, self.credit, list(self.results.values()))
        if now >= self.sent + 1: self.sent = now; self.send(PING, self.credit)

    def run(self):
        while not self.stopping or ((self.running or self.results) and time.monotonic() < self.stopping):
            if not self.socket: self.connect()
            while self.socket and self.socket.poll(20):
                try: self.take(*parse(self.socket.recv_multipart()))
                except (ValueError, TypeError, struct.error) as error: print(f"dropped a frame: {error}", file=sys.stderr)
            if self.socket and not self.socket.poll(0, zmq.POLLOUT): self.lose("the connection broke")
            if self.socket and time.monotonic() > self.heard + self.silence: self.lose("it is silent")
            if self.socket and self.welcomed: self.flush(time.monotonic())
        if self.socket: self.send(GOODBYE); self.socket.close(200)

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("address")
    for name, kind, value in (("--slots", int, 1), ("--delay", float, 1.0)): options.add_argument(name, type=kind, default=value)
    worker = Worker(**vars(options.parse_args()))
    for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, worker.stop)
    worker.run()
