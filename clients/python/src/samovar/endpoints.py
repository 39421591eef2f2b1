"""Where a store is reached: docs/protocol.md, section 1."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeAlias

from . import folders
from .errors import EndpointError

DEFAULT_PORT = 7410
#: Ports from here on are those from which connections begin, so that a peer could meet itself there.
_PORT_LIMIT = 32_768
#: Lets tests take any port.
_ANY_PORT = "SAMOVAR_ANY_PORT"


class Listener(IntEnum):
    """The four sockets of a store; the value is what is added to its port."""

    FRONT = 0
    WORK = 1
    VIEW = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A folder of `ipc` sockets, or a host and the first of four TCP ports."""

    folder: str | None = None
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """Reads `ipc:///FOLDER` or `tcp://HOST:PORT`. Raises `EndpointError`."""
        if text.startswith("ipc://"):
            folder = text.removeprefix("ipc://")
            if not folder.startswith("/"):
                raise EndpointError(f"{text} is no endpoint: ipc:// needs an absolute folder")
            return cls(folder=folder.rstrip("/") or "/")
        if not text.startswith("tcp://"):
            raise EndpointError(f"{text} is no endpoint: write ipc:///FOLDER or tcp://HOST:PORT")
        host, port = _split(text.removeprefix("tcp://"))
        if not host:
            raise EndpointError(f"{text} has no host")
        if "," in host:
            raise EndpointError(f"{text} is no endpoint: each of several begins with its scheme")
        number = _number(host)
        if host == "*" or (number is not None and number.is_unspecified):
            raise EndpointError(f"{text} stands for all addresses of a machine, where a store may listen: connect to one of them")
        limit = 65_536 if os.environ.get(_ANY_PORT) else _PORT_LIMIT
        if not (port.isascii() and port.isdecimal() and 1 <= int(port) <= limit - len(Listener)):
            raise EndpointError(f"{text} has no port between 1 and {limit - len(Listener)}")
        return cls(host="127.0.0.1" if host == "localhost" else host, port=int(port))

    @classmethod
    def of_data_folder(cls, path: str | os.PathLike[str]) -> Endpoint:
        """The endpoint of the store that uses this data folder, with nothing configured."""
        digest = 0xCBF29CE484222325
        for byte in os.fsencode(os.path.realpath(path)):
            digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
        return cls(folder=f"{_runtime_folder()}/{digest:016x}")

    @property
    def is_local(self) -> bool:
        """Whether its sockets are files, so that who may open them may speak."""
        return self.folder is not None

    @property
    def is_loopback(self) -> bool:
        """Whether it is TCP of this machine alone. Names are not looked up."""
        number = _number(self.host)
        return number is not None and number.is_loopback

    @property
    def is_name(self) -> bool:
        """Whether its host has to be looked up."""
        return self.folder is None and _number(self.host) is None

    def address(self, listener: Listener) -> str:
        """What ZeroMQ connects to, unless the host is a name: it would look that up in its only thread."""
        if self.folder is not None:
            return f"ipc://{self.folder}/{listener.name.lower()}"
        return f"tcp://{self.host}:{self.port + listener}"

    def __str__(self) -> str:
        return f"ipc://{self.folder}" if self.folder is not None else f"tcp://{self.host}:{self.port}"


#: One place or several, as text (with commas between them) or parsed.
Endpoints: TypeAlias = str | Endpoint | Iterable[str | Endpoint]


def parse_all(endpoints: Endpoints) -> tuple[Endpoint, ...]:
    """All endpoints, in order. Raises `EndpointError`."""
    if isinstance(endpoints, str):
        endpoints = _parts(endpoints)
    elif isinstance(endpoints, Endpoint):
        endpoints = [endpoints]
    parsed = tuple(Endpoint.parse(one.strip()) if isinstance(one, str) else one for one in endpoints)
    if not parsed:
        raise EndpointError("no endpoint is given")
    return parsed


async def look_up(endpoint: Endpoint) -> list[Endpoint] | EndpointError:
    """The addresses of an endpoint whose host is a name, in the order of the system's resolver; or why there are none."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Endpoint] | EndpointError] = loop.create_future()

    def tell(found: list[Endpoint] | EndpointError) -> None:
        if not answer.done():
            answer.set_result(found)

    def ask() -> None:
        found = _addresses(endpoint)
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, found)

    # The threads of the event loop may all be taken by handlers, for as long as they like; and a process that ends waits for
    # those of any executor, however long a resolver hangs.
    try:
        threading.Thread(target=ask, name="samovar-look-up", daemon=True).start()
    except RuntimeError as error:
        return _unknown(endpoint, error)
    return await answer


def _addresses(endpoint: Endpoint) -> list[Endpoint] | EndpointError:
    try:
        found = socket.getaddrinfo(endpoint.host, None, type=socket.SOCK_STREAM)
    # Whatever it is: somebody waits for an answer.
    except Exception as error:
        return _unknown(endpoint, error)
    hosts = dict.fromkeys(f"[{at[0]}]" if family == socket.AF_INET6 else str(at[0]) for family, _, _, _, at in found)
    return [replace(endpoint, host=host) for host in hosts] or EndpointError(f"the name {endpoint.host} has no address")


def _unknown(endpoint: Endpoint, error: Exception) -> EndpointError:
    return EndpointError(f"the name {endpoint.host} cannot be looked up: {error}")


def _parts(text: str) -> list[str]:
    """Between commas; the path of a folder may have some of its own."""
    parts: list[str] = []
    for piece in text.split(","):
        if not parts or "://" in piece:
            parts.append(piece)
        else:
            parts[-1] += "," + piece
    return parts


def _split(authority: str) -> tuple[str, str]:
    """Host and port; the colons of an IPv6 address in brackets are its own."""
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return authority, str(DEFAULT_PORT)
    return host, port


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _runtime_folder() -> str:
    if folder := os.environ.get("SAMOVAR_RUNTIME_DIR"):
        return folder if folder.startswith("/") else f"{os.getcwd()}/{folder}"
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    # After `su`, it may be the folder of another user.
    if folder.startswith("/") and folders.is_trusted(folder):
        return f"{folder}/samovar"
    return f"/tmp/samovar-{os.getuid()}"
