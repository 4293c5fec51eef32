"""What archives hold, member by member. Nothing is written to disk; what cannot be read is named with its reason.

Archives come from strangers: they may announce what they do not hold, unpack to far more than they are, or end too soon.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, cast

from policyhub.domain.message import Message, gettext_noop

MOST_MEMBERS = 100_000
MOST_UNPACKED = 2 * 2**30  # bytes of a compressed tar: to pass by a member is to unpack it
MOST_AT_ONCE = 2**28 + 2**20  # bytes in one reading: the library holds names and attributes of a tar whole
NOT_REGULAR = Message(gettext_noop("not a regular file"))
REST = gettext_noop("the archive is not read further: it holds more than %(files)d files, or unpacks to more than %(all)d MiB")
# What the standard library raises while it reads hostile bytes.
DAMAGES = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError, LookupError,
    ArithmeticError, struct.error,
)  # fmt: skip
Body = IO[bytes] | Message  # Message: why it cannot be read
_PACKERS: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda stream: cast(IO[bytes], gzip.GzipFile(fileobj=stream)),
    b"BZh": lambda stream: cast(IO[bytes], bz2.BZ2File(stream)),
    b"\xfd7zXZ": lambda stream: cast(IO[bytes], lzma.LZMAFile(stream)),  # noqa: SIM115 (whoever asks for it closes it)
}
_OTHERS = (b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x28\xb5\x2f\xfd")
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
_BLOCK, _CHUNK = 512, 2**20


class _Damaged(ValueError):
    """The text is one that a person may read."""


def damaged(error: Exception) -> Message:
    """The reason, as one line."""
    values = {"error": " ".join(str(error).split()) or type(error).__name__}
    return Message(gettext_noop("the archive is damaged or encrypted (%(error)s)"), values)


def is_packed(data: bytes) -> bool:
    """Whether these are the first bytes of an archive or of compressed data."""
    return data.startswith((*_PACKERS, *_OTHERS))


def members(stream: IO[bytes], name: str) -> Iterator[tuple[str, Body]]:
    """(`name/member`, its bytes or why not) of a zip or tar; (name, its bytes) of a compressed file or any other.

    Raises OSError and DAMAGES where the rest cannot be read either.
    """
    head = stream.read(_BLOCK)
    stream.seek(0)
    packer = next((opened for mark, opened in _PACKERS.items() if head.startswith(mark)), None)
    if head.startswith(_ZIPS):
        found = _of_zip(stream)
    elif packer is not None:
        with packer(stream) as unpacked:
            first = unpacked.read(_BLOCK)
            unpacked.seek(0)
            if not _is_tar(first):
                yield name, unpacked
                return
            yield from _named(name, _of_tar(unpacked, MOST_UNPACKED))
        return
    elif _is_tar(head):
        found = _of_tar(stream, None)
    else:
        yield name, stream
        return
    yield from _named(name, found)


def _named(archive: str, found: Iterator[tuple[str, Body]]) -> Iterator[tuple[str, Body]]:
    for number, (member, body) in enumerate(found):
        if number == MOST_MEMBERS:
            yield archive, _rest()
            return
        if not any(part.startswith(".") for part in member.split("/") if part not in (".", "..")):
            yield f"{archive}/{member}", body


def _rest() -> Message:
    return Message(REST, {"files": MOST_MEMBERS, "all": MOST_UNPACKED >> 20})


def _of_zip(stream: IO[bytes]) -> Iterator[tuple[str, Body]]:
    """Members are packed apart: one that is damaged or has a password hides none of the others."""
    with zipfile.ZipFile(stream) as archive:
        for entry in sorted(archive.infolist(), key=lambda entry: entry.filename):
            if entry.is_dir():
                continue
            try:
                body = archive.open(entry)
            except (OSError, *DAMAGES) as error:
                yield _name_of(entry), damaged(error)
                continue
            with body:
                yield _name_of(entry), body


def _name_of(entry: zipfile.ZipInfo) -> str:
    """Without its UTF-8 flag the library reads a name as code page 437; Chinese Windows writes GBK (APPNOTE 4.4.4, bit 11)."""
    if entry.flag_bits & 0x800:
        return entry.filename
    for encoding in ("utf-8", "gb18030"):
        try:
            return entry.filename.encode("cp437").decode(encoding)
        except UnicodeError:
            continue
    return entry.filename


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


class _Sparing:
    """A stream of which nobody reads 10 GB at once because a header said so."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MOST_AT_ONCE:
            raise _Damaged(f"a header announces {size} bytes")
        return self._stream.read(size)


def _of_tar(stream: IO[bytes], most_unpacked: int | None) -> Iterator[tuple[str, Body]]:
    with tarfile.open(fileobj=cast(IO[bytes], _Sparing(stream)), mode="r:") as archive:
        for member in archive:
            if member.size < 0:  # the library would go back and read it again, for ever
                raise _Damaged(f"{member.name!r} announces {member.size} bytes")
            if most_unpacked is not None and member.offset_data + member.size > most_unpacked:
                yield member.name, _rest()
                return
            body = archive.extractfile(member) if member.isreg() else None
            if body is not None:
                yield member.name, body
            elif not member.isdir():
                yield member.name, NOT_REGULAR
        _require_end(stream, archive.offset)
        while most_unpacked is not None and stream.tell() < most_unpacked and stream.read(_CHUNK):
            pass  # the sum that proves the bytes stands behind the last of them


def _require_end(stream: IO[bytes], at: int) -> None:
    """The library takes a damaged header for the end and says nothing; a real end is a block of zeros (POSIX pax, ustar)."""
    stream.seek(at)
    if stream.read(_BLOCK) != bytes(_BLOCK):
        raise _Damaged(f"byte {at}: neither a member nor the end; what follows is not read")
