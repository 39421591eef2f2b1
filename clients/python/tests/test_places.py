"""Endpoints, folders of sockets, and places of outputs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from textwrap import dedent
from unittest import mock

from support import DEADLINE

from samovar import Endpoint, EndpointError, OutputPlace, folders
from samovar.endpoints import Listener, look_up, parse_all
from samovar.transport import Routes


class EndpointTests(unittest.TestCase):
    def test_an_endpoint_stands_for_its_listeners(self) -> None:
        local = Endpoint.parse("ipc:///run/s")
        self.assertEqual(
            [local.address(one) for one in Listener], [f"ipc:///run/s/{n}" for n in ("front", "work", "view", "admin")]
        )
        remote = Endpoint.parse("tcp://store.example:7000")
        self.assertEqual([remote.address(one) for one in Listener], [f"tcp://store.example:700{n}" for n in range(4)])
        self.assertEqual([str(local), str(remote)], ["ipc:///run/s", "tcp://store.example:7000"])

    def test_a_port_has_a_default(self) -> None:
        self.assertEqual(str(Endpoint.parse("tcp://a")), "tcp://a:7410")
        self.assertEqual(str(Endpoint.parse("tcp://[::1]")), "tcp://[::1]:7410")
        self.assertEqual(str(Endpoint.parse("tcp://[::1]:7000")), "tcp://[::1]:7000")

    def test_what_is_none_is_told(self) -> None:
        wrong = ["tcp://", "tcp://:7000", "tcp://a:x", "tcp://a:0", "tcp://a:32765", "tcp://a:-1"]
        for text in ("", "a", "ipc://a", "inproc://a", *wrong):
            with self.subTest(text), self.assertRaises(EndpointError):
                Endpoint.parse(text)

    def test_what_stands_for_all_addresses_of_a_machine_is_for_a_store_and_not_for_a_peer(self) -> None:
        for text in ("tcp://*", "tcp://*:7410", "tcp://0.0.0.0:7410", "tcp://[::]:7410", "tcp://[0:0::0]"):
            with self.subTest(text), self.assertRaises(EndpointError) as caught:
                Endpoint.parse(text)
            self.assertEqual(
                str(caught.exception),
                f"{text} stands for all addresses of a machine, where a store may listen: connect to one of them",
            )

    def test_there_may_be_several(self) -> None:
        self.assertEqual([str(one) for one in parse_all("tcp://a:1, tcp://b:2")], ["tcp://a:1", "tcp://b:2"])
        self.assertEqual([str(one) for one in parse_all(["tcp://a:1", Endpoint.parse("ipc:///b")])], ["tcp://a:1", "ipc:///b"])
        with self.assertRaises(EndpointError):
            parse_all([])

    def test_a_folder_may_have_commas_of_its_own(self) -> None:
        text = "ipc:///run/a,b, c ,tcp://a:1, ipc:///d,"
        self.assertEqual([str(one) for one in parse_all(text)], ["ipc:///run/a,b, c", "tcp://a:1", "ipc:///d,"])
        for wrong in (",", ",tcp://a:1", "tcp://a:1,", "tcp://a:1,b:2"):
            with self.subTest(wrong), self.assertRaises(EndpointError):
                parse_all(wrong)

    def test_tcp_beyond_this_machine_needs_a_key(self) -> None:
        for near in ("tcp://localhost:7000", "tcp://127.0.0.2:7000", "tcp://[::1]:7000", "ipc:///a"):
            Routes(near, None)
        for far in ("tcp://10.0.0.1:7000", "tcp://example.org:7000"):
            with self.subTest(far), self.assertRaisesRegex(EndpointError, "key file"):
                Routes(far, None)

    def test_the_endpoint_of_a_data_folder_is_that_of_the_store(self) -> None:
        with mock.patch.dict(os.environ, {"SAMOVAR_RUNTIME_DIR": "/run/x"}):
            self.assertEqual(Endpoint.of_data_folder("/").folder, "/run/x/af63a24c860189fe")
            self.assertEqual(Endpoint.of_data_folder("/a/b").folder, Endpoint.of_data_folder("/a/./c/../b").folder)
        with mock.patch.dict(os.environ, {"SAMOVAR_RUNTIME_DIR": "x"}):
            self.assertEqual(Endpoint.of_data_folder("/").folder, f"{os.getcwd()}/x/af63a24c860189fe")


class LookUpTests(unittest.TestCase):
    def test_a_process_that_ends_does_not_wait_for_a_resolver_that_hangs(self) -> None:
        script = """
            import asyncio, socket, threading
            from samovar import Endpoint
            from samovar.endpoints import look_up

            begun = threading.Event()

            def hang(*_, **__):
                begun.set()
                threading.Event().wait()

            async def main():
                query = asyncio.create_task(look_up(Endpoint.parse("tcp://store.invalid")))
                while not begun.is_set():
                    await asyncio.sleep(0)
                print("it hangs")

            socket.getaddrinfo = hang
            asyncio.run(main())
        """
        child = subprocess.run([sys.executable, "-c", dedent(script)], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual((child.returncode, child.stdout, child.stderr), (0, "it hangs\n", ""))

    def test_an_answer_that_comes_when_the_loop_is_closed_is_dropped(self) -> None:
        begun, may_answer = threading.Event(), threading.Event()
        self.addCleanup(may_answer.set)

        def wait(*_: object, **__: object) -> list[object]:
            begun.set()
            may_answer.wait()
            return []

        async def ask() -> None:
            query = asyncio.create_task(look_up(Endpoint.parse("tcp://store.invalid")))
            while not begun.is_set():
                await asyncio.sleep(0)
            self.assertFalse(query.done())

        with mock.patch("socket.getaddrinfo", wait), mock.patch("threading.excepthook") as hook:
            asyncio.run(ask())
            thread = next(one for one in threading.enumerate() if one.name == "samovar-look-up")
            may_answer.set()
            thread.join(DEADLINE)
        self.assertFalse(thread.is_alive())
        hook.assert_not_called()


class FolderTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="samovar-python-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(os.path.realpath(folder.name))

    def test_a_folder_of_ones_own_is_trusted_and_one_that_is_missing_is_none(self) -> None:
        self.assertTrue(folders.check(str(self.folder)))
        self.assertFalse(folders.check(f"{self.folder}/missing"))

    def test_a_folder_where_others_write_is_not(self) -> None:
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        (shared / "mine").mkdir(0o700)
        for path in (shared, shared / "mine"):
            with self.assertRaisesRegex(EndpointError, "shared"):
                folders.check(str(path))
        with self.assertRaises(EndpointError):
            folders.check("/tmp")

    def test_a_link_is_followed_where_others_cannot_make_one(self) -> None:
        (self.folder / "own").mkdir(0o700)
        (self.folder / "link").symlink_to("own")
        self.assertTrue(folders.check(f"{self.folder}/link"))
        (self.folder / "loop").symlink_to("loop")
        with self.assertRaisesRegex(EndpointError, "too many"):
            folders.check(f"{self.folder}/loop")
        shared = self.folder / "sticky"
        shared.mkdir()
        shared.chmod(0o1777)
        (shared / "link").symlink_to(self.folder / "own")
        with self.assertRaisesRegex(EndpointError, "symbolic link"):
            folders.check(f"{shared}/link")

    def test_a_file_is_no_folder(self) -> None:
        (self.folder / "file").write_text("")
        with self.assertRaisesRegex(EndpointError, "no folder"):
            folders.check(f"{self.folder}/file")


class OutputPlaceTests(unittest.TestCase):
    def test_a_place_is_read_as_it_was_written(self) -> None:
        timeline = bytes.fromhex("00112233445566778899aabbccddeeff")
        place = OutputPlace(42, 1, timeline)
        self.assertEqual(str(place), "00112233-4455-6677-8899-aabbccddeeff/42/1")
        self.assertEqual(OutputPlace.parse(str(place)), place)
        self.assertEqual(OutputPlace.parse("42/1"), OutputPlace(42, 1))
        for text in ("", "1", "a/b", "-1/0", "00/1/2", "x/1/2", "1/2/3/4"):
            with self.subTest(text), self.assertRaises(ValueError):
                OutputPlace.parse(text)


if __name__ == "__main__":
    unittest.main()
