"""Small text files that people name on a command line: read whole, or refused in one line. Never waits for a pipe or a device."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop, spoken

MOST_BYTES = 256 * 1024 * 1024
READABLE = Message(gettext_noop("Name a readable file"))
FOLDER, DEVICE = gettext_noop("is a directory, not a file"), gettext_noop("is a pipe or a device, not a file")
TOO_LARGE = gettext_noop("more than %(n)d MB")
NOT_UTF8, AS_UTF8 = gettext_noop("byte %(n)d is not UTF-8 text"), gettext_noop("Save it as UTF-8")
NO_NAME = gettext_noop("no such name")
# What the system says most often, in words of ours; the rest is its own.
SYSTEM = {
    errno.ENOENT: gettext_noop("no such file or directory"),
    errno.EACCES: gettext_noop("permission denied"),
}


def require_file(path: Path | str, cure: str | Message = READABLE) -> None:
    """Raises BadInput unless `path` is a regular file: a pipe without a writer keeps us for ever, /dev/zero eats all memory."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise BadInput.at(_shown(path), None, _why(error), cure) from None
    if not stat.S_ISREG(found.st_mode):
        what = FOLDER if stat.S_ISDIR(found.st_mode) else DEVICE
        raise BadInput.at(_shown(path), None, Message(what), cure)


def read_text(path: Path | str, cure: str | Message = READABLE) -> str:
    """UTF-8 text, a byte order mark left out. Raises BadInput naming the file, the byte and the cure."""
    require_file(path, cure)
    try:
        with Path(path).open("rb") as stream:
            body = stream.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise BadInput.at(_shown(path), None, Message(TOO_LARGE, {"n": MOST_BYTES // 2**20}), cure)
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput.at(_shown(path), None, Message(NOT_UTF8, {"n": error.start}), Message(AS_UTF8)) from None
    except OSError as error:
        raise BadInput.at(_shown(path), None, _why(error), cure) from None


def _why(error: OSError | ValueError) -> Message:
    if not isinstance(error, OSError):
        return Message(NO_NAME)
    known = SYSTEM.get(error.errno or 0)
    return Message(known) if known else spoken((error.strerror or str(error)).lower())


def _shown(path: Path | str) -> str:
    """Printable, also where the name holds bytes that are no UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode() or "''"
