"""Flow records into a file that is either whole or not there (docs/flow-records.md)."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from policyhub.domain.errors import BadInput
from policyhub.domain.message import gettext_noop

Form = Literal["ndjson", "columns", "ipfix"]
# What the engine hands over for each format.
FORMS: dict[str, Form] = {"ndjson": "ndjson", "parquet": "columns", "ipfix": "ipfix"}
SUFFIXES = {".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet", ".ipfix": "ipfix"}
SCHEMA = "policyhub.flow-record/1"
ALIGN = 8


class Writer(Protocol):
    def write(self, block: bytes, /) -> object: ...


def format_of(path: str, asked: str | None) -> str:
    """ndjson, parquet or ipfix, by what was asked or else by the name. Raises BadInput."""
    found = asked or SUFFIXES.get(Path(path).suffix.lower())
    if not found:
        said = gettext_noop("--records %(path)s: no format has this suffix. Use %(names)s, or say --records-format")
        raise BadInput.of(said, path=path, names=", ".join(SUFFIXES))
    return found


@contextlib.contextmanager
def record_file(path: str, kind: str) -> Iterator[Callable[[bytes], object]]:
    """Takes the engine's blocks. At a clean end the file stands under its name; after any exception or signal nothing is left.

    A file system without files that have no name (open(2), O_TMPFILE) keeps `.NAME.PID.part` when the process is killed.
    Raises BadInput when the file cannot be written or Parquet's library is not installed.
    """
    target = Path(os.path.realpath(path))  # a link stays, what it points to is written
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    arrow = import_arrow() if kind == "parquet" else None
    try:
        nameless = _nameless(target.parent)
        with nameless or part.open("xb") as file:
            writer = ParquetWriter(arrow, file) if arrow else file
            yield writer.write
            if isinstance(writer, ParquetWriter):
                writer.close()
            file.flush()
            os.fsync(file.fileno())
            if nameless:
                _name(file, part)
        part.replace(target)
    except OSError as error:
        why = error.strerror or str(error)
        said = gettext_noop("%(path)s: cannot be written (%(why)s). Free space or name another place; nothing was left behind")
        raise BadInput.of(said, path=path, why=why) from None
    finally:
        with contextlib.suppress(OSError):  # a folder that takes no writes has nothing to remove
            part.unlink(missing_ok=True)


def _nameless(folder: Path) -> BinaryIO | None:
    """A file that is gone when nobody gives it a name; None where the file system has none such."""
    try:
        return open(os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666), "wb")
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


def _name(file: BinaryIO, path: Path) -> None:
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:  # only linkat(2), taken for the sake of the folder, follows the link in /proc
        os.link(f"/proc/self/fd/{file.fileno()}", path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def refuse_target(path: str, inputs: Iterable[str]) -> None:
    """Raises BadInput for a name that a new file must not take the place of: what is being read, or a device (/dev/null)."""
    target = Path(path)
    if target.exists() and not target.is_file():
        said = gettext_noop("--records %(path)s: no ordinary file, and would be replaced by one. Name a file")
        raise BadInput.of(said, path=path)
    read = next((name for name in inputs if os.path.realpath(name) == os.path.realpath(path)), None)
    if read:
        said = gettext_noop("--records %(path)s: is read by this run, and would be overwritten. Name another file")
        raise BadInput.of(said, path=path)


def import_arrow() -> Any:
    """pyarrow. Raises BadInput with what to install."""
    try:
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")
    except ImportError:
        said = gettext_noop("Parquet needs pyarrow, which is not installed. Run `pip install 'policyhub[parquet]'`")
        raise BadInput.of(said) from None


class ParquetWriter:
    """Blocks of columns (crates/records/src/block.rs) as row groups; buffers are wrapped, not copied."""

    def __init__(self, arrow: Any, file: BinaryIO) -> None:
        self._arrow, self._file = arrow, file
        self._writer: Any = None

    def write(self, block: bytes) -> None:
        table = self._table(block)
        self._open(table.schema).write_table(table)

    def close(self) -> None:
        """Writes the end of the file."""
        if self._writer:
            self._writer.close()

    def _open(self, schema: Any) -> Any:
        if self._writer is None:
            schema = schema.with_metadata({"schema": SCHEMA})
            self._writer = self._arrow.parquet.ParquetWriter(self._file, schema, compression="zstd")
        return self._writer

    def _table(self, block: bytes) -> Any:
        (length,) = struct.unpack_from("<I", block)
        head = json.loads(block[4 : 4 + length])
        begin = -(-(4 + length) // ALIGN) * ALIGN
        body = self._arrow.py_buffer(block)[begin:]
        columns = head["columns"]
        arrays = [
            self._array(column, head["rows"], [body[at : at + size] for at, size in column["buffers"]]) for column in columns
        ]
        return self._arrow.table(arrays, names=[column["name"] for column in columns])

    def _array(self, column: dict[str, Any], rows: int, buffers: list[Any]) -> Any:
        arrow = self._arrow
        kind, nulls = column["kind"], column["nulls"]
        if kind == "marks":
            return self._marks(rows, nulls, buffers)
        if kind == "texts":
            offsets, inner, text = buffers
            texts = arrow.StringArray.from_buffers(inner.size // 4 - 1, inner, text)
            return arrow.Array.from_buffers(arrow.list_(arrow.string()), rows, [None, offsets], children=[texts])
        types = {"number": arrow.int64(), "time": arrow.timestamp("ns", "UTC"), "text": arrow.string()}
        return arrow.Array.from_buffers(types[kind], rows, buffers, null_count=nulls)

    def _marks(self, rows: int, nulls: int, buffers: list[Any]) -> Any:
        arrow = self._arrow
        offsets, dscp, packets, valid, sizes = buffers
        count = dscp.size // 8
        values = [
            arrow.Array.from_buffers(arrow.int64(), count, [None, dscp]),
            arrow.Array.from_buffers(arrow.int64(), count, [None, packets]),
            arrow.Array.from_buffers(arrow.int64(), count, [valid, sizes], null_count=nulls),
        ]
        marks = arrow.StructArray.from_arrays(values, names=["dscp", "packets", "bytes"])
        return arrow.Array.from_buffers(arrow.list_(marks.type), rows, [None, offsets], children=[marks])
