"""The key file of a peer: who it is to a store beyond this machine, and by which keys it knows the store.

```
samovar-key: 1
name: render-1
public: <40 characters of Z85>
secret: <40 characters of Z85>
server: <40 characters of Z85: a public key of the store>
server: <another one, while the store's key is rotated>
```
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
from dataclasses import dataclass, field

import zmq
from zmq.utils import z85

from .errors import KeyFileError

FORMAT = "1"
SERVERS = 8
_BYTES = 16 << 10
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")

#: Fingerprints of keys whose secrets everybody can read: in the manual of libzmq and RFC 26, and in the tests of NaCl.
_KNOWN = frozenset(
    [
        "ebb3af4dd99ceff36e9f90b5db3e450e",
        "522501f4e7a63f61dd776d7ed6829104",
        "300c9c9603b92a4b39ed3958bf924011",
        "f35e5616160a30bf3c6e79fa73c576d4",
    ]
)


@dataclass(frozen=True, slots=True)
class PeerKey:
    """What a key file says."""

    name: str
    public: bytes
    secret: bytes = field(repr=False)
    servers: tuple[bytes, ...]


def fingerprint(public: bytes) -> str:
    """The first 16 bytes of SHA-256 over a public key of 32 bytes, in hexadecimal."""
    return hashlib.sha256(public).hexdigest()[:32]


def read_key(path: str | os.PathLike[str]) -> PeerKey:
    """Reads a key file, which must be this user's alone. Raises `KeyFileError`, which never quotes what the file holds."""
    try:
        return parse_key(_protected_text(path))
    except KeyFileError as error:
        raise KeyFileError(f"the key file {os.fspath(path)} {error}") from None


def parse_key(text: str) -> PeerKey:
    """Reads the text of a key file. Raises `KeyFileError`."""
    fields: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, value = line.partition(":")
        name = name.strip()
        if not colon or name not in ("samovar-key", "name", "public", "secret", "server"):
            raise KeyFileError(f"has an unknown field in line {number}")
        if name in fields and name != "server":
            raise KeyFileError(f"has a second {name} in line {number}")
        fields.setdefault(name, []).append(value.strip())
    for name in ("samovar-key", "name", "public", "secret", "server"):
        if name not in fields:
            raise KeyFileError(f"has no {name}")
    if fields["samovar-key"] != [FORMAT]:
        raise KeyFileError(f"is of another format than {FORMAT}")
    if not _NAME.fullmatch(fields["name"][0]):
        raise KeyFileError("has a name that is none: 1 to 32 of A-Z a-z 0-9 . _ -, beginning with a letter or digit")
    if len(fields["server"]) > SERVERS:
        raise KeyFileError(f"has {len(fields['server'])} servers; {SERVERS} at most")
    public, secret = _key("public", fields["public"][0]), _key("secret", fields["secret"][0])
    if zmq.curve_public(z85.encode(secret)) != z85.encode(public):
        raise KeyFileError("has a public key that does not belong to its secret one")
    servers = tuple(_key("server", server) for server in fields["server"])
    if not _KNOWN.isdisjoint(map(fingerprint, (public, *servers))):
        raise KeyFileError("has a key from a manual or a test, whose secret everybody knows")
    return PeerKey(fields["name"][0], public, secret, servers)


def _key(name: str, text: str) -> bytes:
    try:
        key: bytes = z85.decode(text.encode("ascii")) if len(text) == 40 else b""
    # No ASCII, no character of Z85, or a group of five that is beyond 32 bits.
    except (KeyError, ValueError, struct.error):
        key = b""
    if len(key) != 32:
        raise KeyFileError(f"has a {name} that is not 40 characters of Z85")
    return key


def _protected_text(path: str | os.PathLike[str]) -> str:
    try:
        # Not following a link: what was looked at is what is read. Not blocking: it may be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise KeyFileError(f"cannot be opened: {error.strerror}") from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise KeyFileError("is no regular file")
        if facts.st_uid not in (os.geteuid(), 0):
            raise KeyFileError("belongs to another user")
        # A credential of systemd is root's, with an access list for the user of the service, which shows as what the group may do.
        is_credential = facts.st_uid != os.geteuid() and facts.st_gid == 0
        if facts.st_mode & (0o037 if is_credential else 0o077):
            raise KeyFileError(f"is open to others (mode {stat.S_IMODE(facts.st_mode):04o}): protect it with chmod 600")
        data = os.read(descriptor, _BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > _BYTES:
        raise KeyFileError("is too large for a key file")
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise KeyFileError("is no text in ASCII") from None
