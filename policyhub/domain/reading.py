"""Small text files that people name on a command line: read whole, or refused in one line. Never waits for a pipe or a device."""

from __future__ import annotations

import stat
from pathlib import Path

from policyhub.domain.errors import BadInput

MOST_BYTES = 256 * 1024 * 1024


def require_file(path: Path | str, cure: str = "Name a readable file") -> None:
    """Raises BadInput unless `path` is a regular file: a pipe without a writer keeps us for ever, /dev/zero eats all memory."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInput.at(_shown(path), None, (getattr(error, "strerror", None) or "no such name").lower(), cure) from None
    if not stat.S_ISREG(found.st_mode):
        what = "is a directory" if stat.S_ISDIR(found.st_mode) else "is a pipe or a device"
        raise BadInput.at(_shown(path), None, f"{what}, not a file", cure)


def read_text(path: Path | str, cure: str = "Name a readable file") -> str:
    """UTF-8 text, a byte order mark left out. Raises BadInput naming the file, the byte and the cure."""
    require_file(path, cure)
    try:
        with Path(path).open("rb") as stream:
            body = stream.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise BadInput.at(_shown(path), None, f"more than {MOST_BYTES // 2**20} MB", cure)
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput.at(_shown(path), None, f"byte {error.start} is not UTF-8 text", "Save it as UTF-8") from None
    except OSError as error:
        raise BadInput.at(_shown(path), None, str(error.strerror), cure) from None


def _shown(path: Path | str) -> str:
    """Printable, also where the name holds bytes that are no UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode() or "''"
