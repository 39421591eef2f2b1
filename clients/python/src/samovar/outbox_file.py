"""The file of a durable client: entries are added at its end and synced before anybody relies on them."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Sequence

from .errors import OutboxError
from .protocol.outbox import ClientOutbox, Entry, encode, read
from .protocol.received import Malformed

#: Written anew beyond so many bytes, and twice what is left then.
_COMPACTION_BYTES = 4 << 20
#: More than a file ever has: what a client keeps, as much again that was added since, and the entries around it.
_LARGEST = 256 << 20


class OutboxFile:
    """`FILE.lock` is locked while a process uses it, and stays: two processes with one session would take each other's answers.

    The file is written anew, as small as it can be, when it is opened and when it has grown; a crash leaves the old or the new
    one. Raises `OutboxError`. All of it blocks. It may be closed while another thread adds something, which is written then.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # A link stays where it is, and whoever comes by another way finds the same lock.
        self._path = os.path.realpath(path)
        self._descriptor = -1
        self._mutex = threading.Lock()
        self._lock = self._take_lock()
        try:
            self.outbox = self._read()
            self._compact()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        with self._mutex:
            for descriptor in (self._descriptor, self._lock):
                if descriptor >= 0:
                    os.close(descriptor)
            self._descriptor = self._lock = -1

    def add(self, entries: Sequence[Entry]) -> None:
        """Adds entries; they are on disk when this returns."""
        with self._mutex:
            self._add(entries)

    def _add(self, entries: Sequence[Entry]) -> None:
        data = b"".join(map(encode, entries))
        for entry in entries:
            self.outbox.add(entry)
        try:
            _write(self._descriptor, data)
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise self._failure("cannot be written", error) from None
        self._growth += len(data)
        if self._growth <= _COMPACTION_BYTES:
            return
        try:
            draft = self._write_draft()
        except OSError as error:
            # What was added is on disk all the same. It is tried again when as much more is, as long as the file is far from what
            # can be read.
            if os.fstat(self._descriptor).st_size > _LARGEST // 2:
                raise self._failure("cannot be written", error) from None
            self._growth = 0
            return
        self._install(*draft)

    def _compact(self) -> None:
        try:
            draft = self._write_draft()
        except OSError as error:
            raise self._failure("cannot be written", error) from None
        self._install(*draft)

    @property
    def _draft(self) -> str:
        return self._path + ".new"

    def _write_draft(self) -> tuple[int, int]:
        """Writes what is left to a file of its own. Returns its descriptor, and its bytes; if it raises, nothing has changed."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        data = b"".join(map(encode, self.outbox.entries))
        descriptor = os.open(self._draft, flags, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            _write(descriptor, data)
            os.fsync(descriptor)
        except BaseException:
            os.close(descriptor)
            os.unlink(self._draft)
            raise
        return descriptor, len(data)

    def _install(self, descriptor: int, size: int) -> None:
        """Puts it in the place of the file. If it raises, either of them may be there."""
        try:
            os.rename(self._draft, self._path)
            _sync_folder(os.path.dirname(self._path))
        except OSError as error:
            os.close(descriptor)
            raise self._failure("cannot be written", error) from None
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = descriptor
        # The more is left, the later it pays to write it again.
        self._growth = -size

    def _read(self) -> ClientOutbox:
        # A pipe would be waited for, and a device replaced by a file.
        if os.path.exists(self._path) and not os.path.isfile(self._path):
            raise OutboxError(f"the outbox {self._path} is no file")
        try:
            with open(self._path, "rb") as file:
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return ClientOutbox()
        except OSError as error:
            raise self._failure("cannot be opened", error) from None
        if len(data) > _LARGEST:
            raise OutboxError(f"{self._path} is too large for an outbox")
        try:
            outbox = read(data)
        except Malformed as error:
            raise OutboxError(f"the outbox {self._path} cannot be read: {error}") from None
        return ClientOutbox() if outbox is None else outbox.reopened()

    def _take_lock(self) -> int:
        try:
            lock = os.open(self._path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._failure("cannot be opened", error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise OutboxError(f"another process uses the outbox {self._path}: one at a time can") from None
        except OSError as error:
            os.close(lock)
            raise self._failure("cannot be locked", error) from None
        return lock

    def _failure(self, what: str, error: OSError) -> OutboxError:
        return OutboxError(f"the outbox {self._path} {what}: {error.strerror}")


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
