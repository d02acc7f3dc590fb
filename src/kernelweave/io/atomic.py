"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from types import TracebackType
from typing import BinaryIO

from ..errors import InputError

try:
    import fcntl
except ImportError:  # Windows: there, a file that somebody writes to cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

#: Seconds for which a temporary file is left alone even where nobody holds it: its writer may be about to.
GRACE = 60.0


class AtomicFile:
    """A binary file for reading and writing, `file`, that takes its name only when it is whole.

    It lies in the folder of its final place, so that the move is one step; until then an older file of that name stays
    as it is. What a writer that died left behind is removed by the next writer to the same place.

    Parameters
    ----------
    path : path of the finished file
        Through a link, the file that it points to.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with AtomicFile(path) as out:
    ...     _ = out.file.write(b"whole")
    >>> path.read_bytes()
    b'whole'
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = os.path.expanduser(os.fspath(path))
        self._target = os.path.realpath(self.path)
        folder = os.path.dirname(self._target)
        if not os.path.isdir(folder):
            raise InputError(f"Cannot write {self.path!r}: the folder {folder!r} does not exist.")
        if os.path.isdir(self._target):
            raise InputError(f"Cannot write {self.path!r}: it is a folder; add the name of a file.")
        digest = hashlib.blake2b(os.path.basename(self._target).encode("utf-8", "surrogateescape"), digest_size=6)
        start = os.path.join(folder, f".kw-{digest.hexdigest()}-")
        _remove_orphans(folder, start)
        self._temporary = f"{start}{secrets.token_hex(8)}.part"
        self._open = True
        try:
            # 0o666 less the user's mask, as any other new file; tempfile would hide it from the group
            handle = os.open(self._temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise self._named(error) from error
        self.file: BinaryIO = os.fdopen(handle, "w+b")
        _lock(handle)

    def commit(self) -> None:
        """Give the file its name, once all of it is on the disk."""
        try:
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            os.replace(self._temporary, self._target)
        except OSError as error:
            self.abort()
            raise self._named(error) from error
        self._open = False
        _sync_folder(os.path.dirname(self._target))

    def abort(self) -> None:
        """Leave nothing behind; does nothing after `commit`."""
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(OSError):  # what is still buffered may not fit, and is not wanted
            self.file.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)

    def _named(self, error: OSError) -> OSError:
        """Return the error with the name that the user knows, and what became of the file."""
        why = f"{error.strerror or error}: nothing was written, and a file of that name is as it was"
        return OSError(error.errno, why, self.path)

    def __enter__(self) -> AtomicFile:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.commit()
            return
        self.abort()
        if isinstance(error, OSError):
            raise self._named(error) from error


def check_writable(path: str | os.PathLike) -> None:
    """Raise now what `AtomicFile` would raise later, so that a long run does not end without its file."""
    AtomicFile(path).abort()


def _lock(handle: int) -> bool:
    """Hold a file until it is closed or its process ends; False where somebody else does, or it cannot be told."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_orphans(folder: str, start: str) -> None:
    """Remove the temporary files whose names begin like this and that nobody holds any more."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.path.startswith(start) and entry.name.endswith(".part"):
                with contextlib.suppress(OSError):
                    _remove_orphan(entry.path)


def _remove_orphan(path: str) -> None:
    if time.time() - os.stat(path).st_mtime < GRACE:
        return
    with open(path, "rb") as file:
        if not _lock(file.fileno()):
            return
    os.unlink(path)


def _sync_folder(folder: str) -> None:
    """Bring the new name to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
