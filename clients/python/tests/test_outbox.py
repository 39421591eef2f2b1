"""The outbox of a durable client: docs/outbox.md."""

from __future__ import annotations

import os
import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from samovar import OutboxError
from samovar.outbox_file import OutboxFile
from samovar.protocol.frame import Proof, Submission
from samovar.protocol.outbox import Accepted, ClientOutbox, Entry, Opened, Seen, WelcomedBy, encode, read
from samovar.protocol.received import Malformed
from samovar.protocol.siphash import siphash

ME, HOME, AWAY = b"m" * 16, b"h" * 16, b"a" * 16


def accepted(sequence: int) -> Accepted:
    return Accepted(Submission(sequence, None, b"%d" % sequence))


class SipHashTests(unittest.TestCase):
    def test_the_vector_of_its_authors(self) -> None:
        key = bytes(range(16))
        low, high = (int.from_bytes(key[half : half + 8], "little") for half in (0, 8))
        self.assertEqual(siphash(bytes(range(15)), low, high), 0xA129CA6149BE45E5)
        self.assertEqual(siphash(b"", low, high), 0x726FDB47DD0E0E31)
        self.assertEqual(siphash(bytes(range(8)), low, high), 0x93F5F5799A932462)


class FormatTests(unittest.TestCase):
    def file(self) -> bytes:
        entries: list[Entry] = [
            Opened(ME, 1, 1),
            WelcomedBy(HOME, 9, Proof(8, 7), 4),
            accepted(1),
            accepted(2),
            accepted(3),
            Seen(2),
        ]
        return b"".join(map(encode, entries))

    def test_entries_add_up(self) -> None:
        outbox = read(self.file())
        assert outbox is not None
        self.assertEqual((outbox.session, outbox.timeline, outbox.witness, outbox.proof), (ME, HOME, 9, Proof(8, 7)))
        self.assertEqual(outbox.start, 4)
        self.assertEqual((outbox.oldest, outbox.next, [input.sequence for input in outbox.inputs]), (1, 4, [1, 3]))
        self.assertEqual(read(b"".join(map(encode, outbox.entries))), outbox)

    def test_of_an_input_that_was_seen_its_number_alone_is_kept(self) -> None:
        outbox = read(self.file())
        assert outbox is not None
        self.assertEqual(outbox.entries[2:], [accepted(1), Accepted(Submission(2, None, b"")), accepted(3), Seen(2)])

    def test_what_a_crash_cut_off_or_left_as_zeros_is_left_out(self) -> None:
        whole, last = self.file(), encode(accepted(4))
        for tail in (last[:-1], last[:13], last[:5], bytes(40), last[:-1] + bytes([last[-1] ^ 1])):
            self.assertEqual(read(whole + tail), read(whole))
        self.assertIsNone(read(b""))
        self.assertIsNone(read(bytes(100)))

    def test_any_other_damage_is_an_error(self) -> None:
        whole = self.file()
        for place in (20, 60, len(whole) - 30):
            damaged = bytearray(whole)
            damaged[place] ^= 1
            with self.assertRaises(Malformed):
                read(bytes(damaged) + encode(Seen(1)))
        with self.assertRaises(Malformed):
            read(b"this is no outbox at all")
        with self.assertRaises(Malformed):
            read(encode(accepted(1)))
        with self.assertRaises(Malformed):
            read(whole + encode(accepted(9)) + encode(Seen(1)))

    def test_another_timeline_voids_all_inputs(self) -> None:
        outbox = read(self.file() + encode(WelcomedBy(AWAY, 2)))
        assert outbox is not None
        self.assertEqual((outbox.inputs, outbox.next, outbox.witness, outbox.proof, outbox.start), ([], 1, 2, None, 0))

    def test_a_start_stands_behind_the_proof_and_never_falls(self) -> None:
        with_start, without = (encode(WelcomedBy(HOME, 9, Proof(8, 7), start))[12:] for start in (4, 0))
        self.assertEqual(with_start, without + b"\x04")
        self.assertEqual(encode(WelcomedBy(HOME, 9, None, 4)), encode(WelcomedBy(HOME, 9)), "others would take it for a proof")
        outbox = read(self.file() + encode(WelcomedBy(HOME, 9, Proof(9, 7), 3)))
        assert outbox is not None
        self.assertEqual(outbox.start, 4)

    def test_a_file_with_nothing_left_begins_another_session(self) -> None:
        self.assertNotEqual(ClientOutbox(ME).reopened().session, ME)
        outbox = ClientOutbox(ME)
        outbox.add(accepted(1))
        again = outbox.reopened()
        self.assertEqual((again.session, again.openings), (ME, 2))


class FileTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="samovar-python-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "outbox"

    def open(self) -> OutboxFile:
        file = OutboxFile(self.path)
        self.addCleanup(file.close)
        return file

    def test_what_was_added_is_there_for_the_next_process(self) -> None:
        file = self.open()
        file.add([accepted(1), accepted(2)])
        file.add([Seen(1)])
        file.close()
        self.assertEqual([input.sequence for input in self.open().outbox.inputs], [2])

    def test_it_is_the_users_alone(self) -> None:
        os.umask(os.umask(0))
        self.open()
        for name in (self.path, f"{self.path}.lock"):
            self.assertEqual(stat.S_IMODE(os.stat(name).st_mode) & 0o077, 0)

    def test_one_process_at_a_time(self) -> None:
        self.open()
        with self.assertRaisesRegex(OutboxError, "another process uses"):
            OutboxFile(self.path)

    def test_a_symbolic_link_stands_for_the_file_that_it_leads_to(self) -> None:
        target = self.path.parent / "elsewhere" / "target"
        target.parent.mkdir()
        self.path.symlink_to(target)
        file = self.open()
        file.add([accepted(1)])
        with self.assertRaisesRegex(OutboxError, "another process uses"):
            OutboxFile(target)
        file.close()
        self.assertTrue(self.path.is_symlink())
        self.assertEqual(sorted(os.listdir(target.parent)), ["target", "target.lock"])
        for path in (target, self.path):
            again = OutboxFile(path)
            again.close()
            self.assertEqual([input.sequence for input in again.outbox.inputs], [1])

    def test_a_file_that_has_grown_is_written_anew(self) -> None:
        file = self.open()
        with mock.patch("samovar.outbox_file._COMPACTION_BYTES", 5_000):
            for sequence in range(1, 11):
                file.add([Accepted(Submission(sequence, None, bytes(1_000))), Seen(sequence)])
        self.assertLess(self.path.stat().st_size, 6_000)
        file.close()
        self.assertEqual(self.open().outbox.inputs, [])

    def test_where_there_is_no_room_to_write_it_anew_it_goes_on_and_is_tried_later(self) -> None:
        file = self.open()
        # In the place of the draft.
        draft = Path(f"{self.path}.new")
        draft.mkdir()
        with mock.patch("samovar.outbox_file._COMPACTION_BYTES", 5_000):
            for sequence in range(1, 11):
                file.add([Accepted(Submission(sequence, None, bytes(1_000))), Seen(sequence)])
            self.assertGreater(self.path.stat().st_size, 10_000)
            draft.rmdir()
            for sequence in range(11, 21):
                file.add([Accepted(Submission(sequence, None, bytes(1_000)))])
        self.assertLess(self.path.stat().st_size, 15_000)
        file.close()
        self.assertEqual([input.sequence for input in self.open().outbox.inputs], list(range(11, 21)))

    def test_where_it_can_never_be_written_anew_it_fails_long_before_it_cannot_be_read(self) -> None:
        file = self.open()
        Path(f"{self.path}.new").mkdir()
        with (
            mock.patch("samovar.outbox_file._COMPACTION_BYTES", 5_000),
            mock.patch("samovar.outbox_file._LARGEST", 40_000),
            self.assertRaisesRegex(OutboxError, "cannot be written"),
        ):
            for sequence in range(1, 41):
                file.add([Accepted(Submission(sequence, None, bytes(1_000))), Seen(sequence)])
        self.assertLess(self.path.stat().st_size, 30_000)
        file.close()

    def test_a_file_that_is_none_is_told(self) -> None:
        for text in (b"this is no outbox at all", b"12345\n"):
            self.path.write_bytes(text)
            with self.assertRaisesRegex(OutboxError, "does not begin like an outbox"):
                OutboxFile(self.path)
            self.assertEqual(self.path.read_bytes(), text)
        with self.assertRaisesRegex(OutboxError, "cannot be opened"):
            OutboxFile(self.path / "below")
        self.path.unlink()
        os.mkfifo(self.path)
        with self.assertRaisesRegex(OutboxError, "is no file"):
            OutboxFile(self.path)
        self.assertTrue(self.path.is_fifo())


if __name__ == "__main__":
    unittest.main()
