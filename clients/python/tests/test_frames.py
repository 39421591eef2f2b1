"""Frames, by the bytes of docs/protocol.md."""

from __future__ import annotations

import re
import unittest
from typing import Any
from unittest import mock

from support import PROTOCOL

from samovar import Client, ErrorCode, Worker
from samovar.packing import pack, unpack
from samovar.protocol import received as rx
from samovar.protocol.frame import NO_TIMELINE, Claim, Flag, Frame, Kind, Offer, Proof, Schema, Submission, hello, send
from samovar.protocol.text import bounded

HOME = bytes.fromhex("00112233445566778899aabbccddeeff")
ME = bytes.fromhex("0102030405060708090a0b0c0d0e0f10")
CLAIM = Claim(42, 0, (3, 7), 0xFEEDFACECAFEBEEF)
OTHER = Claim(42, 1, (3, 8), 1)
PROOF = Proof(42, 0x0123456789ABCDEF)
COUNTER = Schema("Counter", 1)


def golden() -> dict[str, list[bytes]]:
    """The messages of section 7, by name."""
    section = re.search(r"```golden\n(.*?)```", PROTOCOL.read_text(), re.DOTALL)
    assert section is not None
    frames: dict[str, list[bytes]] = {}
    for line in section.group(1).splitlines():
        if not line.startswith("  "):
            name = line
            frames[name] = []
        else:
            frames[name].append(bytes.fromhex(line.replace(" ", "")))
    return frames


#: What this package sends, beside proofs, which it always takes.
SENT: dict[str, Frame] = {
    "ping": Frame(Kind.PING, 2),
    "goodbye": Frame(Kind.GOODBYE),
    "drain": Frame(Kind.DRAIN),
    "send": send([Submission(3, None, b"\xa3add"), Submission(4, "left", b"\xc0")], 2),
    "send of an input that ends its session": send([Submission(3, None, b"\xa3add")], 2, ends_session=True),
    "settle": Frame(Kind.SETTLE, 43),
    "viewRequest": Frame(Kind.VIEW_REQUEST, 43, (None,)),
    "outputsRequest": Frame(Kind.OUTPUTS_REQUEST, 0, (None, 42, 0)),
    "viewsRequest": Frame(Kind.VIEWS_REQUEST, 43, (None,)),
    "credit": Frame(Kind.CREDIT, 8),
    "result": Frame(
        Kind.RESULT,
        11,
        (
            [
                [*CLAIM, 0, [b"\x01", b"\x02"]],
                [*OTHER, 1, ["threw", "404", True]],
                [42, 2, (3, 9), 2, 2, None],
                [42, 3, (3, 10), 3, 3, [1, b"\x01", b"\x07"]],
            ],
        ),
    ),
    "progress": Frame(Kind.PROGRESS, 0, ([[42, 0, (3, 7), 0.5, "half"]],)),
    "request": Frame(Kind.REQUEST, 0, ([1, "effects", {"limit": 10}],)),
}

RECEIVED: dict[str, Any] = {
    "welcome": rx.Welcome(COUNTER, 3, 4098, 42, 6.0, start=3),
    "welcome with a proof": rx.Welcome(COUNTER, 3, 4098, 42, 6.0, start=3),
    "error": rx.Error(ErrorCode.RETRY_LATER, "the store's inbox is full", 0, 1.0),
    "ping": rx.Ping(2),
    "pong": rx.Pong(4098),
    "pong with a proof": rx.Pong(4098),
    "goodbye": rx.Goodbye(),
    "drain": rx.Drain(),
    "receipt": rx.Receipts([rx.Outcome(3, 43, 0), rx.Outcome(4, 44, 1, b"\xa4full"), rx.Outcome(5, 45, 2, "not an input")], 4101),
    "receipt with a proof": rx.Receipts([rx.Outcome(3, 42, 0)], 4101),
    "settled": rx.Settled(43, ["43/0 timed out after 3 attempts"]),
    "waiting": rx.Waiting(43, "1 effect waits in queue http, no worker serves it"),
    "view": rx.InstanceView("main", 45, {"n": 5}),
    "tick": rx.Tick("main", 47, 45, True),
    "outputs": rx.OutputPage("main", (42, 0), None, [rx.EmittedOutput(42, 1, b"\x05")]),
    "outputs after a gap": rx.OutputPage("main", (42, 0), (42, 3), []),
    "views": rx.ViewPage("main", 43, False, [(45, {"n": 5})]),
    "task": rx.Tasks(
        [
            rx.Task(CLAIM, 1, "main", "default", None, None, b"\xa4ping"),
            rx.Task(OTHER, 2, "left", "http", 1.5, rx.StreamPlace(5, b"\x07"), b"\xc0"),
        ],
        2,
    ),
    "acknowledge": rx.Acknowledge([(3, 7), (3, 8)]),
    "acknowledge with a proof": rx.Acknowledge([(3, 7)]),
    "cancel": rx.Cancel([(3, 7)], 2),
    "cancel that only counts": rx.Cancel([], 2),
    "streamed": rx.Streamed([rx.Mark((3, 7), 5)]),
    "reply": rx.Reply(1, None, {"open": 0}),
    "reply that refuses": rx.Reply(2, "there is no verb fly", None),
}

#: HELLOs are sent with the flag for proofs; these frames differ from the golden ones in it alone.
HELLOS: dict[str, tuple[Frame, bytes]] = {
    "hello from a client": (hello(COUNTER, 0, "client", ME, 1), NO_TIMELINE),
    "hello from a client that takes proofs": (hello(COUNTER, PROOF, "client", ME, 2), HOME),
    "hello from a client that knows a start": (hello(COUNTER, PROOF, "client", ME, 2, start=3), HOME),
    "hello from a durable client": (hello(COUNTER, 42, "durable", ME, 3), HOME),
    "hello from a client that has sent an input which ends its session": (hello(COUNTER, 42, "client", ME, 2, True), HOME),
    "hello from a worker": (
        hello(COUNTER, 42, "worker", Offer(ME, 4, (("default", None), ("http", 4))).values([CLAIM]), 2),
        HOME,
    ),
    "hello from a worker that can do more": (
        hello(COUNTER, 0, "worker", Offer(ME, 1, (("default", None),), ("gpu", "av1")).values([]), 1),
        HOME,
    ),
    "hello from a tool": (hello(None, 0, "client", ME, 1), NO_TIMELINE),
}


class GoldenTests(unittest.TestCase):
    def test_what_is_sent_has_the_golden_bytes(self) -> None:
        frames = golden()
        for name, frame in SENT.items():
            with self.subTest(name):
                self.assertEqual(frame.parts(HOME), frames[name])

    def test_hello_has_the_golden_bytes_but_for_the_flag_of_proofs(self) -> None:
        frames = golden()
        for name, (frame, timeline) in HELLOS.items():
            with self.subTest(name):
                header, body = frame.parts(timeline)
                self.assertTrue(header[7] & Flag.TAKES_PROOFS)
                plain = frames[name][0][7]
                self.assertEqual([header[:7] + bytes([plain]) + header[8:], body], frames[name])

    def test_what_is_received_is_read_from_the_golden_bytes(self) -> None:
        frames = golden()
        for name, content in RECEIVED.items():
            with self.subTest(name):
                proof = PROOF if "proof" in name else None
                self.assertEqual(rx.parse(frames[name]), rx.Envelope(HOME, content, proof))

    def test_each_golden_frame_is_one_of_these(self) -> None:
        self.assertEqual(set(golden()), set(SENT) | set(RECEIVED) | set(HELLOS))

    def test_values_of_programs_are_written_as_the_page_says(self) -> None:
        values = {
            b"\x81\xa9increment\x80": {"increment": {}},
            bytes.fromhex("81a3616464 82a474657874 a3746561 a5636f756e74 05"): {"add": {"text": "tea", "count": 5}},
            bytes.fromhex("81a470616972 82a25f30 01 a25f31 02"): {"pair": {"_0": 1, "_1": 2}},
            bytes.fromhex("9201 02"): [1, 2],
            bytes.fromhex("c40201ff"): b"\x01\xff",
            bytes.fromhex("8107c3"): {7: True},
            bytes.fromhex("cb3ff8000000000000"): 1.5,
        }
        for data, value in values.items():
            self.assertEqual(pack(value), data)
            self.assertEqual(unpack(data), value)


class MalformedTests(unittest.TestCase):
    def malformed(self, *parts: bytes) -> None:
        with self.assertRaises(rx.Malformed):
            rx.parse(parts)

    def test_a_header_is_exactly_one(self) -> None:
        header = Frame(Kind.PONG).parts(HOME)[0]
        for parts in ([], [header[:-1]], [header + b"\0"], [b"SMV2" + header[4:]], [header, b"", b""]):
            self.malformed(*parts)
        self.malformed(header[:4] + b"\2" + header[5:])
        self.malformed(header[:5] + b"\x63" + header[6:])

    def test_a_frame_of_a_peer_is_none_for_a_peer(self) -> None:
        self.malformed(*SENT["send"].parts(HOME))

    def test_a_body_is_exactly_what_its_kind_has(self) -> None:
        header = Frame(Kind.SETTLED, 1).parts(HOME)[0]
        self.malformed(header)
        self.malformed(header, pack(["a"]) + pack(1))
        self.malformed(header, pack(["a"])[:-1])
        self.malformed(header, pack([b"a"]))
        self.malformed(header, b"\xc1")
        self.malformed(header, b"\x91\xa1\xff")

    def test_a_value_of_another_type_is_none(self) -> None:
        header = Frame(Kind.TICK, 1).parts(HOME)[0]
        for values in ((None, 1, 1), (None, True, True), (None, 1.0, True), (b"main", 1, True), (None, 1 << 63, True)):
            self.malformed(header, b"".join(map(pack, values)))

    def test_a_proof_is_for_frames_that_may_have_one(self) -> None:
        proof = pack([42, 1])
        self.assertEqual(rx.parse([Frame(Kind.PONG, 7).parts(HOME)[0], proof]).proof, Proof(42, 1))
        self.malformed(Frame(Kind.DRAIN).parts(HOME)[0], proof)
        self.malformed(Frame(Kind.PONG).parts(HOME)[0], proof + proof)

    def test_an_unknown_code_of_an_error_is_malformed(self) -> None:
        self.malformed(*Frame(Kind.ERROR, 0, ([99, "", 0, 0],)).parts(HOME))

    def test_the_bits_of_the_header_that_mean_nothing_are_not_looked_at(self) -> None:
        header = Frame(Kind.PONG, 7, flags=0xFFFF).parts(HOME)[0]
        self.assertEqual(rx.parse([header]).content, rx.Pong(7))


class LimitTests(unittest.IsolatedAsyncioTestCase):
    """What a store would drop without an answer is refused here."""

    async def test_a_worker_beyond_the_limits_of_hello_does_not_run_and_says_why(self) -> None:
        for queues, capabilities, reason in [
            ([f"q{number}" for number in range(1_025)], [], "1025 queues; 1,024 at most"),
            (["ä" * 513], [], "the name of a queue has 1026 bytes; 1,024 at most"),
            (["q"], [f"c{number}" for number in range(65)], "65 capabilities; 64 at most"),
            (["q"], ["ä" * 65], "the name of a capability has 130 bytes; 128 at most"),
        ]:
            worker = Worker("Counter", endpoint="ipc:///nowhere", capabilities=capabilities)
            worker.handler(*queues)(mock.AsyncMock())
            with self.assertRaises(ValueError) as caught:
                await worker.run(signals=False)
            self.assertEqual(str(caught.exception), reason)

    def test_at_the_limits_there_is_no_objection(self) -> None:
        queues = (("q" * 1_024, None), *((f"q{number}", None) for number in range(1_023)))
        self.assertIsNone(Offer(b"m" * 16, 1, queues, ("c" * 128, *(f"c{number}" for number in range(63)))).objection)

    def test_a_worker_reads_so_many_jobs_ahead_and_no_more(self) -> None:
        Worker("Counter", endpoint="ipc:///nowhere", read_ahead=65_536)
        with self.assertRaisesRegex(ValueError, "reads 0 to 65,536 jobs ahead"):
            Worker("Counter", endpoint="ipc:///nowhere", read_ahead=65_537)

    def test_the_key_of_an_instance_has_128_bytes_at_most(self) -> None:
        Client("Counter", endpoint="ipc:///nowhere", instance="i" * 128)
        with self.assertRaisesRegex(ValueError, "an instance key of 130 bytes; 128 at most"):
            Client("Counter", endpoint="ipc:///nowhere", instance="ä" * 65)


class TextTests(unittest.TestCase):
    def test_a_long_text_is_cut_and_says_how_long_it_was(self) -> None:
        self.assertEqual(bounded("short"), "short")
        self.assertEqual(bounded("a" * 5_000), "a" * 986 + "… (5000 bytes)")
        cut = bounded("😀" * 1_001)
        self.assertLessEqual(len(cut.encode()), 4_000)
        self.assertTrue(cut.endswith("… (4004 bytes)"))


if __name__ == "__main__":
    unittest.main()
