"""Log files of the supervised processes: bounded, and never a reason to stop."""

from __future__ import annotations

import os
from pathlib import Path

MAX_BYTES = 5 * 1024 * 1024
KEEP = 3


class RotatingLog:
    """`<name>.log`, `<name>.log.1` ... `.3`. A full disk loses log lines (counted in `lost_bytes`), not the service."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, keep: int = KEEP) -> None:
        self.path, self._max_bytes, self._keep = path, max_bytes, keep
        self.lost_bytes = 0
        self._fd: int | None = None
        self._size = 0

    def write(self, data: bytes) -> None:
        try:
            if self._fd is not None and self._size + len(data) > self._max_bytes:
                self._rotate()
            if self._fd is None:
                self._open()
            assert self._fd is not None
            self._size += os.write(self._fd, data)
        except OSError:
            self.lost_bytes += len(data)

    def tail(self, lines: int = 5) -> list[str]:
        """The last lines written, for the terminal when a process does not stay up."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4_000))
                return file.read().decode(errors="replace").splitlines()[-lines:]
        except OSError:
            return []

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> None:
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._fd).st_size

    def _rotate(self) -> None:
        self.close()
        for number in range(self._keep, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            newer = self.path if number == 1 else self.path.with_name(f"{self.path.name}.{number - 1}")
            if newer.exists():
                newer.replace(older)
