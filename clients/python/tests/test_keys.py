"""Key files, and who is believed to own them."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import zmq
from zmq.utils import z85

from samovar import KeyFileError
from samovar.keys import fingerprint, parse_key, read_key
from samovar.transport import Routes

#: The client's and the server's keys in the manual of libzmq.
KNOWN = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
KNOWN_SECRET = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"


def pair() -> tuple[str, str]:
    public, secret = zmq.curve_keypair()
    return public.decode(), secret.decode()


def key_text(public: str, secret: str, *servers: str, name: str = "render-1") -> str:
    lines = ["# a key", "", "samovar-key: 1", f"name: {name}", f"public: {public}", f"secret: {secret}"]
    return "\n".join([*lines, *(f"server: {server}" for server in servers)]) + "\n"


class KeyTextTests(unittest.TestCase):
    def setUp(self) -> None:
        self.public, self.secret = pair()
        self.server = pair()[0]
        self.text = key_text(self.public, self.secret, self.server)

    def refused(self, text: str, why: str) -> None:
        with self.assertRaisesRegex(KeyFileError, why) as caught:
            parse_key(text)
        for secret in (self.secret, self.public, self.server):
            self.assertNotIn(secret, str(caught.exception))

    def test_a_key_has_a_name_a_pair_and_the_servers_that_it_expects(self) -> None:
        other = pair()[0]
        key = parse_key(self.text + f"server: {other}\n")
        self.assertEqual((key.name, z85.encode(key.public).decode()), ("render-1", self.public))
        self.assertEqual([z85.encode(server).decode() for server in key.servers], [self.server, other])
        self.assertNotIn(repr(key.secret)[2:-1], repr(key))

    def test_a_fingerprint_is_the_beginning_of_sha_256(self) -> None:
        self.assertEqual(fingerprint(bytes(32)), "66687aadf862bd776c8fc18b8e9f8e20")

    def test_each_field_is_demanded_and_no_other_is_known(self) -> None:
        for name in ("samovar-key", "name", "public", "secret", "server"):
            self.refused("\n".join(line for line in self.text.splitlines() if not line.startswith(name)), f"no {name}")
        self.refused(self.text + "colour: red\n", "unknown field in line 8")
        self.refused(self.text + "server\n", "unknown field")
        self.refused(self.text + "name: other\n", "second name")
        self.refused(self.text.replace("samovar-key: 1", "samovar-key: 2"), "another format")
        self.refused(self.text + f"server: {self.server}\n" * 8, "9 servers; 8 at most")

    def test_a_name_is_one(self) -> None:
        for name in ("", ".a", "a b", "ä", "a" * 33, "a/b"):
            self.refused(key_text(self.public, self.secret, self.server, name=name), "name")

    def test_a_key_is_40_characters_of_z85_and_belongs_to_its_secret(self) -> None:
        for wrong in ("", self.public[:-1], self.public[:-1] + "~", "#" * 40, "ä" * 40):
            self.refused(key_text(wrong, self.secret, self.server), "public that is not 40 characters")
            self.refused(key_text(self.public, self.secret, wrong), "server that is not 40 characters")
        self.refused(key_text(pair()[0], self.secret, self.server), "does not belong")

    def test_a_key_that_everybody_knows_is_refused(self) -> None:
        self.refused(key_text(KNOWN, KNOWN_SECRET, self.server), "everybody knows")
        self.refused(key_text(self.public, self.secret, self.server, KNOWN), "everybody knows")


class KeyFileTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="samovar-python-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "render-1.key"
        self.write(pair()[0])

    def write(self, *servers: str) -> None:
        self.path.write_text(key_text(*pair(), *servers))
        self.path.chmod(0o600)

    def refused(self, why: str, path: Path | None = None) -> None:
        with self.assertRaisesRegex(KeyFileError, f"the key file .*{why}"):
            read_key(path or self.path)

    def test_a_file_of_ones_own_is_read(self) -> None:
        self.assertEqual(read_key(self.path).name, "render-1")

    def test_a_file_that_is_open_to_others_is_not(self) -> None:
        for mode in (0o640, 0o604, 0o610, 0o601, 0o620):
            self.path.chmod(mode)
            self.refused(f"open to others \\(mode 0{mode:o}\\)")

    def test_a_file_of_another_user_is_not(self) -> None:
        if os.geteuid() == 0:
            os.chown(self.path, 12345, -1)
            self.refused("belongs to another user")
        with mock.patch("os.geteuid", return_value=54321):
            if os.stat(self.path).st_uid != 0:
                self.refused("belongs to another user")

    def test_only_a_regular_file_is(self) -> None:
        link = self.path.with_name("link.key")
        link.symlink_to(self.path)
        self.refused("cannot be opened", link)
        pipe = self.path.with_name("pipe.key")
        os.mkfifo(pipe, 0o600)
        self.refused("no regular file", pipe)
        self.refused("no regular file", self.path.parent)
        self.refused("cannot be opened: No such file", self.path.with_name("missing.key"))

    def test_a_file_that_is_too_large_or_no_text_is_not(self) -> None:
        self.path.write_text("#" * (17 << 10))
        self.refused("too large")
        self.path.write_bytes(b"name: \xff")
        self.refused("no text")

    def test_the_file_is_read_at_each_attempt_and_gives_each_pair_of_endpoint_and_server(self) -> None:
        routes = Routes("tcp://10.0.0.1:7000,tcp://10.0.0.2:7000,ipc:///a", self.path)
        self.assertEqual([route.endpoint.port for route in routes.read()], [7000, 7000, 0])
        servers = [pair()[0], pair()[0]]
        self.write(*servers)
        named = [(route.endpoint.host[-1:], route.server and z85.encode(route.server).decode()) for route in routes.read()]
        self.assertEqual(named, [("1", servers[0]), ("1", servers[1]), ("2", servers[0]), ("2", servers[1]), ("", None)])


if __name__ == "__main__":
    unittest.main()
