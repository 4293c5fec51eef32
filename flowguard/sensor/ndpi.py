"""Labels of nDPI (https://github.com/ntop/nDPI, LGPL-3.0) beside our own: its `ndpiReader` reads the same captures.

It is a program of its own, never installed with us.
They stand in the report and decide nothing: no verdict, no signal, no service of ours asks them.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from policyhub.domain.errors import BadInput
from policyhub.domain.message import gettext_noop

PROGRAM, PACKAGE = "ndpiReader", "libndpi-bin"
PROTOCOLS = {"6": "tcp", "17": "udp", "132": "sctp"}  # what has ports; the rest nDPI names by its number alone
COLUMNS = ("protocol", "src_ip", "src_port", "dst_ip", "dst_port", "ndpi_proto", "c_to_s_pkts", "s_to_c_pkts")
NOTHING = "Unknown"
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5": "zstd"}

End = tuple[str, int]
Conversation = tuple[str, frozenset[End]]


def refuse_unreadable(paths: Iterable[str]) -> None:
    """Raises BadInput, naming the cure, before a long analysis: no such program, or a capture that it cannot read."""
    if shutil.which(PROGRAM) is None:
        said = gettext_noop(
            "--labels ndpi: there is no program %(program)s. Install the Debian package %(package)s, or leave it out"
        )
        raise BadInput.of(said, program=PROGRAM, package=PACKAGE)
    for path in paths:
        if path == "-":
            raise BadInput.of(gettext_noop("--labels ndpi: standard input can be read once only. Give captures as files"))
        with Path(path).open("rb") as stream:
            packed = PACKED.get(stream.read(2))
        if packed:
            said = gettext_noop("%(path)s: %(program)s reads no %(packed)s. Unpack it first, or leave --labels out")
            raise BadInput.of(said, path=path, program=PROGRAM, packed=packed)


def apply_labels(report: dict[str, Any]) -> None:
    """Each flow gets `ndpi`: the label of its conversation at its point, null when nDPI found none. Raises BadInput."""
    told = {point["name"]: labels_of(point["file"]) for point in report["points"]}
    for flow in report["flows"]:
        flow["ndpi"] = told.get(flow["point"], {}).get(_conversation(flow))
    report["labels"] = {"program": PROGRAM, "version": version()}


def version() -> str | None:
    """As it introduces itself; null when it does not."""
    help_text = subprocess.run([PROGRAM, "-h"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    found = re.search(r"nDPI\D{0,4}([\w.-]+)", help_text)
    return found[1] if found else None


def labels_of(path: str) -> dict[Conversation, str]:
    """Conversation -> label, of several (a port used twice) that of the most packets. Raises BadInput naming file and cure."""
    with tempfile.TemporaryDirectory(prefix="policyhub-ndpi-") as folder:
        link, table = Path(folder, "capture"), Path(folder, "flows.csv")
        link.symlink_to(Path(path).resolve())  # a comma in a name would be two captures, a name like eth0 a network card
        # -d: no guesses by the port number, which our own services say already.
        argv = [PROGRAM, "-q", "-d", "-i", str(link), "-C", str(table)]
        ended = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
        if ended.returncode or not table.exists():
            words = (ended.stderr or ended.stdout).strip().splitlines()
            error = words[-1][:200].replace(str(link), path) if words else f"exit code {ended.returncode}"
            said = gettext_noop("%(path)s: %(program)s could not read it (%(error)s). Leave --labels out")
            raise BadInput.of(said, path=path, program=PROGRAM, error=error)
        with table.open(encoding="utf-8", errors="replace", newline="") as lines:
            return _largest(_rows(lines, path))


def _rows(lines: Iterable[str], path: str) -> Iterator[Mapping[str, str]]:
    """Rows of its table. Other versions have other columns behind ours, or a bar between them."""
    lines = iter(lines)
    head = next(lines, "").lstrip("#").rstrip("\r\n")
    bar = "|" if "|" in head else ","
    names = head.split(bar)
    missing = [name for name in COLUMNS if name not in names]
    if head and missing:
        said = gettext_noop("%(path)s: %(program)s wrote no column %(column)s. Use that of Debian's %(package)s (4.2)")
        raise BadInput.of(said, path=path, program=PROGRAM, column=missing[0], package=PACKAGE)
    for row in csv.reader(lines, delimiter=bar, quoting=csv.QUOTE_NONE):
        if len(row) >= len(COLUMNS):
            yield dict(zip(names, row, strict=False))


def _largest(rows: Iterable[Mapping[str, str]]) -> dict[Conversation, str]:
    found: dict[Conversation, tuple[int, str]] = {}
    for row in rows:
        proto, label = PROTOCOLS.get(row["protocol"]), row["ndpi_proto"]
        if proto is None or label in ("", NOTHING):
            continue
        try:
            ends = [(str(ip_address(row[f"{side}_ip"])), int(row[f"{side}_port"])) for side in ("src", "dst")]
            packets = int(row["c_to_s_pkts"]) + int(row["s_to_c_pkts"])
        except ValueError:
            continue
        key = (proto, frozenset(ends))
        found[key] = max(found.get(key, (0, "")), (packets, label))
    return {key: label for key, (_, label) in found.items()}


def _conversation(flow: Mapping[str, Any]) -> Conversation:
    return flow["proto"], frozenset([(flow["src"], flow["sport"]), (flow["dst"], flow["dport"])])


def of_flow(flow: Mapping[str, Any]) -> Sequence[str]:
    """The cell of the text's table, none without labels."""
    return [flow["ndpi"] or "-"] if "ndpi" in flow else []
