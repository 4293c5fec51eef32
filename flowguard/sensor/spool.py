"""Batches on disk before they are sent. kill -9 at any moment loses none and repeats at most one.

    <folder>/lock                                 held while a sensor uses the folder
    <folder>/<start>-<stream>/<sequence>.batch    one line of checksum, then the gzipped JSON
    <folder>/<start>-<stream>/gaps.json           what had to be left out and is not yet told
    <folder>/refused/                             batches that the service will never take, for a person

Every start of the sensor opens a stream of its own, so a sequence is never given twice. A batch counts from the moment its
file is renamed into place; `.new` files of a killed sensor were never part of the stream.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import json
import os
import re
import threading
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowguard.domain.batch import SCHEMA, canonical
from policyhub.domain.errors import BadInput

FOLDER = re.compile(r"(\d{8})-([0-9a-f-]{36})")
MAGIC = b"PHSPOOL1"
FULL, FAILED, DAMAGED = "spool-full", "spool-failed", "spool-damaged"
# Given back when the disk is full, so that the record of what is lost can still be written.
RESERVE_BYTES = 256 * 1024
KEEP_REFUSED = 32


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch that waits. payload: gzipped JSON as it goes over the wire."""

    path: Path
    stream: str
    sequence: int
    payload: bytes


class Spool:
    """One writer (the collector) and one reader (the sender) in one process."""

    def __init__(self, folder: Path, *, sensor: str, stream: str, max_bytes: int) -> None:
        """Raises BadInput when the folder cannot be written or another sensor holds it."""
        self.sensor, self.stream, self.max_bytes = sensor, stream, max_bytes
        self._folder, self._lock, self._next = folder, threading.Lock(), 1
        self.came = threading.Event()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._held = _hold(folder / "lock")
            old = sorted(p for p in folder.iterdir() if FOLDER.fullmatch(p.name))
            self._gaps = _leftover_gaps(old)
            self._waiting = deque(path for p in old for path in _batches(p))
            self._used = sum(path.stat().st_size for path in self._waiting)
            start = int(old[-1].name[:8]) + 1 if old else 1
            for stream_folder in old:  # room to begin on a full disk: what waits must still be sent
                (stream_folder / "reserve").unlink(missing_ok=True)
            self._own = folder / f"{start:08d}-{stream}"
            self._own.mkdir(mode=0o700)
            _try_write(self._own / "reserve", bytes(RESERVE_BYTES))
            if not self._gaps or self._save_gaps():
                _clear(old)
        except OSError as error:
            raise BadInput.at(
                str(folder), None, f"cannot be used as spool ({error.strerror})", "Name a writable folder"
            ) from None

    def append(self, told: Mapping[str, Any]) -> bool:
        """Keep a batch; returns whether it is safely on disk. A full spool leaves it out and records the gap."""
        with self._lock:
            sequence, gaps = self._next, list(self._gaps)
            self._next += 1
            head = {"schema": SCHEMA, "sensor": self.sensor, "stream": self.stream, "sequence": sequence, "gaps": gaps}
            payload = gzip.compress(canonical({**told, **head}), 1, mtime=0)
            data = b"%s %s %d\n%s" % (MAGIC, hashlib.sha256(payload).hexdigest().encode(), len(payload), payload)
            path = self._own / f"{sequence:012d}.batch"
            trouble = FULL if self._used + len(data) > self.max_bytes else _try_write(path, data)
            if trouble:
                self._left_out(self.stream, sequence, len(told["verdicts"]), trouble)
                return False
            self._used += len(data)
            self._waiting.append(path)
            if gaps:
                self._gaps = []
                (self._own / "gaps.json").unlink(missing_ok=True)
            self.came.set()
            return True

    def oldest(self) -> Entry | None:
        """The batch to send next; damaged files are set aside and told as gaps."""
        with self._lock:
            while self._waiting:
                path = self._waiting[0]
                stream, sequence = path.parent.name[9:], int(path.stem)
                payload = _read(path)
                if payload is not None:
                    return Entry(path, stream, sequence, payload)
                self._forget(path)
                self._left_out(stream, sequence, None, DAMAGED)
            self.came.clear()
            return None

    def done(self, entry: Entry) -> None:
        """The service has it."""
        with self._lock:
            self._forget(entry.path)

    def refuse(self, entry: Entry, reason: str) -> None:
        """The service will never take it: keep it for a person and tell the gap."""
        with self._lock:
            refused = self._folder / "refused"
            refused.mkdir(exist_ok=True, mode=0o700)
            (refused / f"{entry.stream}-{entry.sequence:012d}.json.gz").write_bytes(entry.payload)
            for old in sorted(refused.iterdir(), key=lambda p: p.stat().st_mtime)[:-KEEP_REFUSED]:
                old.unlink()
            self._forget(entry.path)
            self._left_out(entry.stream, entry.sequence, _verdicts_in(entry.payload), reason)

    def waiting(self) -> int:
        """Batches not yet taken by the service."""
        return len(self._waiting)

    def backlog(self, now: float) -> tuple[int, float]:
        """How many wait, the one on its way among them, and since when the oldest does, in seconds. now: epoch seconds."""
        with self._lock:
            if not self._waiting:
                return 0, 0.0
            try:
                return len(self._waiting), max(0.0, now - self._waiting[0].stat().st_mtime)
            except OSError:  # somebody took the file away: the reader will tell
                return len(self._waiting), 0.0

    def has_gaps(self) -> bool:
        return bool(self._gaps)

    def close(self) -> None:
        os.close(self._held)

    def _forget(self, path: Path) -> None:
        self._waiting.popleft()
        self._used -= path.stat().st_size if path.exists() else 0
        path.unlink(missing_ok=True)

    def _left_out(self, stream: str, sequence: int, verdicts: int | None, reason: str) -> None:
        last = self._gaps[-1] if self._gaps else None
        if last and (last["stream"], last["reason"], last["to_sequence"]) == (stream, reason, sequence - 1):
            known = last["verdicts"]
            total = None if known is None or verdicts is None else known + verdicts
            self._gaps[-1] = {**last, "to_sequence": sequence, "verdicts": total}
        else:
            gap = {"stream": stream, "from_sequence": sequence, "to_sequence": sequence, "verdicts": verdicts, "reason": reason}
            self._gaps.append(gap)
        self._save_gaps()

    def _save_gaps(self) -> bool:
        path, data = self._own / "gaps.json", canonical(self._gaps)
        if not _try_write(path, data):
            return True
        (self._own / "reserve").unlink(missing_ok=True)
        return not _try_write(path, data)


def _hold(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise BadInput.at(str(path), None, "another sensor uses this spool", "Stop it, or name another folder") from None
    return handle


def _write(path: Path, data: bytes) -> None:
    """All of it and durable, or not at all."""
    new = path.with_suffix(".new")
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        new.rename(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _try_write(path: Path, data: bytes) -> str:
    """Empty when the file is safe, else the reason of a gap."""
    try:
        _write(path, data)
    except OSError as error:
        return FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else FAILED
    return ""


def _batches(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.batch") if path.stem.isdecimal())


def _read(path: Path) -> bytes | None:
    """The payload, or None when the file is torn or changed."""
    try:
        head, _, payload = path.read_bytes().partition(b"\n")
        magic, digest, length = head.split(b" ")
        whole = magic == MAGIC and int(length) == len(payload) and hashlib.sha256(payload).hexdigest().encode() == digest
    except (OSError, ValueError):
        return None
    return payload if whole else None


def _leftover_gaps(folders: list[Path]) -> list[dict[str, Any]]:
    gaps: list[dict[str, Any]] = []
    for folder in folders:
        try:
            gaps += json.loads((folder / "gaps.json").read_bytes())
        except (OSError, ValueError):
            continue
    return gaps


def _clear(folders: list[Path]) -> None:
    """Drop what a killed sensor left half-written, and streams that were sent to the end."""
    for folder in folders:
        for path in folder.iterdir():
            if path.suffix != ".batch":
                path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()


def _verdicts_in(payload: bytes) -> int | None:
    try:
        return len(json.loads(gzip.decompress(payload))["verdicts"])
    except (OSError, EOFError, ValueError, KeyError, zlib.error):
        return None
