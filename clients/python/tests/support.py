"""What tests share: the documents, real stores, and waiting for something with a deadline."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from samovar import Client, Operator, Worker

ROOT = Path(__file__).resolve().parents[3]
PROTOCOL = ROOT / "docs" / "protocol.md"
DEADLINE = 60.0

# What tests do to connections is no news, nor that a busy machine is slow.
logging.getLogger("samovar").addHandler(logging.NullHandler())
logging.getLogger("asyncio").setLevel(logging.ERROR)


def program(name: str) -> Path:
    """An example of this checkout, as `swift build` has made it."""
    return ROOT / ".build" / "debug" / name


def needs(name: str) -> Callable[[type[unittest.TestCase]], type[unittest.TestCase]]:
    return unittest.skipUnless(program(name).exists(), f"swift build --product {name} makes the store of these tests")


async def eventually(what: str, condition: Callable[[], Any]) -> Any:
    """Waits until the condition gives something."""
    try:
        async with asyncio.timeout(DEADLINE):
            while not (found := condition()):
                await asyncio.sleep(0.01)
            return found
    except TimeoutError:
        raise AssertionError(f"not within {DEADLINE:g} s: {what}") from None


@contextmanager
def busy_threads() -> Iterator[None]:
    """Handlers have taken all threads of `asyncio.to_thread`."""
    with ThreadPoolExecutor(1) as threads:
        may_end = Event()
        asyncio.get_running_loop().set_default_executor(threads)
        threads.submit(may_end.wait)
        try:
            yield
        finally:
            may_end.set()


class Store:
    """A store process of a program, in a folder of its own. It may be killed and started again."""

    def __init__(self, name: str = "counter", *arguments: str, endpoint: str | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="samovar-python-"))
        self.endpoint = endpoint or f"ipc://{self.folder}/s"
        self._command = [str(program(name)), "store", "--data", f"{self.folder}/data", "--endpoint", self.endpoint, *arguments]
        self._log = (self.folder / "log").open("wb")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        # Peers that are gone are missed soon, and a store that ends waits for nobody.
        environment = {**os.environ, "SAMOVAR_STORE_GOODBYE_SECONDS": "0", "SAMOVAR_STORE_SILENCE_SECONDS": "3"}
        self._process = subprocess.Popen(self._command, stdout=self._log, stderr=self._log, env=environment)

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def remove(self) -> None:
        self.kill()
        self._log.close()
        shutil.rmtree(self.folder)


class StoreTests(unittest.IsolatedAsyncioTestCase):
    """A store of its own for each test."""

    PROGRAM = "counter"
    NAME = "Counter"

    def setUp(self) -> None:
        self.store = Store(self.PROGRAM, *(["--seed", '{"loads":false}'] if self.PROGRAM == "ContractProgram" else []))
        self.addCleanup(self.store.remove)

    async def asyncSetUp(self) -> None:
        # It would take more time than what is tested.
        asyncio.get_running_loop().set_debug(False)

    def client(self, **options: Any) -> Client:
        return Client(self.NAME, endpoint=self.store.endpoint, **options)

    def worker(self, **options: Any) -> Worker:
        return Worker(self.NAME, endpoint=self.store.endpoint, **options)

    @property
    def operator(self) -> Operator:
        return Operator(endpoint=self.store.endpoint)

    async def state(self) -> dict[str, Any]:
        state: dict[str, Any] = (await self.operator.ask("inspect", patience=DEADLINE))["state"]
        return state
