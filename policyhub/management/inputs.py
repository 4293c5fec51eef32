"""Files, folders and archives from the command line, as texts. Nothing is written, nothing is unpacked to disk."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop, spoken
from policyhub.management import archives

MAX_FILE = 256 * 2**20
MAX_TOTAL = 1024 * 2**20
SAMPLE = 65_536
CONTROL = frozenset(range(32)) - {8, 9, 10, 12, 13, 27}  # a console log has backspaces and escapes
MAX_CONTROL_SHARE = 0.02
GIVE_ANY = Message(gettext_noop("Give an existing file, folder, zip or tar"))
TOO_LARGE = gettext_noop("larger than %(file)d MiB, or all inputs together than %(all)d MiB")
CAUSES = {
    errno.ENOENT: gettext_noop("no such file or directory"),
    errno.EACCES: gettext_noop("permission denied"),
    errno.EISDIR: gettext_noop("is a directory"),
}
BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class NotText(Exception):
    """The bytes are no text; `said` says why."""

    def __init__(self, said: Message) -> None:
        super().__init__(str(said))
        self.said = said


@dataclass(frozen=True, slots=True)
class TextFile:
    """name: as given, `archive.zip/member` inside archives, with forward slashes."""

    name: str
    text: str
    encoding: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """said: why."""

    file: str
    said: Message

    @property
    def reason(self) -> str:
        """In English, as programs read it."""
        return str(self.said)


@dataclass(slots=True)
class Inputs:
    files: list[TextFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    total: int = 0


def gather(paths: Iterable[str]) -> Inputs:
    """Every text under the given paths, in order. Raises BadInput for a path that is missing, unreadable, empty or not text.

    Inside folders and archives such a file is skipped with its reason instead.
    """
    inputs = Inputs()
    for given in paths:
        if not given:  # pathlib reads it as the current folder
            raise BadInput.at("''", None, Message(gettext_noop("an empty path")), GIVE_ANY)
        path = Path(given)
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise BadInput.at(given, None, _why(error), GIVE_ANY) from None
        if stat.S_ISDIR(mode):
            _folder(path, inputs)
        elif stat.S_ISREG(mode):
            _single(path, given, inputs)
        else:
            raise BadInput.at(given, None, Message(gettext_noop("not a file or folder")), GIVE_ANY)
    return inputs


def _single(path: Path, given: str, inputs: Inputs) -> None:
    found = len(inputs.skipped)
    files = len(inputs.files)
    _file(path, given, inputs)
    if len(inputs.files) == files:
        reasons = inputs.skipped[found:]
        del inputs.skipped[found:]
        said = reasons[0].said if reasons else Message(gettext_noop("the archive holds no file"))
        cure = Message(gettext_noop("Give device configurations as text"))
        raise BadInput.at(reasons[0].file if reasons else given, None, said, cure)


def _folder(root: Path, inputs: Inputs) -> None:
    for folder, folders, names in os.walk(root, onerror=lambda error: _skip_folder(error, inputs)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(folder, name)
            if path.is_file():
                _file(path, path.as_posix(), inputs)
            else:
                inputs.skipped.append(Skipped(path.as_posix(), archives.NOT_REGULAR))


def _skip_folder(error: OSError, inputs: Inputs) -> None:
    inputs.skipped.append(Skipped(str(error.filename), _why(error)))


def _file(path: Path, name: str, inputs: Inputs) -> None:
    try:
        with path.open("rb") as stream:
            for member, body in archives.members(stream, name):
                _take(inputs, member, body)
    except (OSError, *archives.DAMAGES) as error:
        inputs.skipped.append(Skipped(name, _why(error)))


def _take(inputs: Inputs, name: str, body: archives.Body) -> None:
    if isinstance(body, Message):
        inputs.skipped.append(Skipped(name, body))
        return
    try:
        data = body.read(min(MAX_FILE, MAX_TOTAL - inputs.total) + 1)
    except (OSError, *archives.DAMAGES) as error:
        inputs.skipped.append(Skipped(name, _why(error)))
        return
    if len(data) > MAX_FILE or inputs.total + len(data) > MAX_TOTAL:
        inputs.skipped.append(Skipped(name, Message(TOO_LARGE, {"file": MAX_FILE >> 20, "all": MAX_TOTAL >> 20})))
        return
    inputs.total += len(data)
    try:
        text, encoding = decode(data)
    except NotText as reason:
        inputs.skipped.append(Skipped(name, reason.said))
        return
    inputs.files.append(TextFile(name, text, encoding))


def decode(data: bytes) -> tuple[str, str]:
    """Text and encoding: by byte order mark, else UTF-8, else GB 18030 (GBK), else Latin-1. Raises NotText."""
    if not data.strip():
        raise NotText(Message(gettext_noop("the file is empty")))
    for mark, encoding in BOMS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), encoding
            except UnicodeDecodeError as error:
                said = gettext_noop("byte %(byte)d: not %(encoding)s, though its first bytes say so")
                raise NotText(Message(said, {"byte": error.start + len(mark), "encoding": encoding})) from None
    sample = data[:SAMPLE]
    nul = sample.find(0)
    controls = sum(byte in CONTROL for byte in sample) > MAX_CONTROL_SHARE * len(sample)
    if (nul >= 0 or controls) and archives.is_packed(data):
        raise NotText(Message(gettext_noop("an archive that is not opened here. Unpack it first")))
    if nul >= 0:
        raise NotText(Message(gettext_noop("byte %(byte)d: binary data, not a configuration"), {"byte": nul}))
    if controls:
        raise NotText(Message(gettext_noop("binary data, not a configuration")))
    for encoding in ("utf-8", "gb18030"):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1"), "latin-1"


def _why(error: Exception) -> Message:
    """The common causes have words of their own; the rest is said as the system says it."""
    if not isinstance(error, OSError) or error.errno is None:  # bz2 and gzip raise OSError for damaged data, too
        return archives.damaged(error)
    known = CAUSES.get(error.errno or 0)
    return Message(known) if known else spoken((error.strerror or str(error)).lower())


def text_of(file: str) -> str:
    """One text file that must be readable, for options such as --identities. Raises BadInput."""
    inputs = gather([file])
    if len(inputs.files) != 1:
        said = Message(gettext_noop("%(count)d files in an archive or folder"), {"count": len(inputs.files)})
        raise BadInput.at(file, None, said, Message(gettext_noop("Give one file")))
    return inputs.files[0].text
