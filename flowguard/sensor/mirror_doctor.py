"""`policyhub sensor doctor CAPTURE...`: what is wrong with the mirrors that these captures come from."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import native_capture
from flowguard.domain.mirror_signs import MirrorSign, examine_mirror
from flowguard.sensor.flows_cli import BAD_INPUT, CLEAN, FINDINGS, PARTIAL, PARTIAL_RESULT, name_by_file
from flowguard.sensor.mirrors import unwrap_argument, unwraps
from flowguard.sensor.words import error_line, reader_arguments, translator
from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.reading import require_file

WELL = gettext_noop("nothing wrong showed in %(frames)d frames")
MEANS, CURE = gettext_noop("means"), gettext_noop("cure")


def capture_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captures", nargs="*", metavar="PCAP", help="captures of mirrored traffic, instead of --config")
    unwrap_argument(parser)
    reader_arguments(parser)


def examine_captures(args: argparse.Namespace) -> int:
    """Exit code: 0 nothing wrong showed, 1 something did, 2 bad input, 3 a capture was damaged (said)."""
    read = translator(args.lang)
    try:
        points = _points(args)
        unwrap = unwraps(args, points)
        rows = json.loads(native_capture.inspect(points, unwrap=unwrap))["points"]
    except (native_capture.CaptureError, BadInput) as error:
        sys.stderr.write(f"policyhub sensor doctor: {error_line(error, read)}\n")
        return BAD_INPUT
    signs = {row["name"]: examine_mirror(row) for row in rows}
    if args.format == "json":
        sys.stdout.write(json.dumps(_as_json(rows, signs, read), ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("".join(_as_text(row, signs[row["name"]], read) for row in rows))
    damaged = [row["error"] for row in rows if row["error"]]
    for line in damaged:
        sys.stderr.write(f"policyhub sensor doctor: {read(PARTIAL_RESULT) % {'error': line}}\n")
    if damaged:
        return PARTIAL
    return FINDINGS if any(signs.values()) else CLEAN


def _points(args: argparse.Namespace) -> list[tuple[str, str]]:
    if args.config is not None:
        raise BadInput.of(gettext_noop("give either --config or captures, not both"))
    if not args.captures:
        raise BadInput.of(gettext_noop("nothing to examine. Give --config FILE, or captures"))
    for path in args.captures:
        require_file(path, Message(gettext_noop("Name a pcap or pcapng file")))
    return name_by_file(args.captures, taken=[])


def _as_json(rows: list[dict[str, Any]], signs: dict[str, list[MirrorSign]], read: Callable[[str], str]) -> dict[str, Any]:
    def row_of(row: dict[str, Any]) -> dict[str, Any]:
        found = [
            {
                "code": sign.code, "evidence": dict(sign.evidence), "found": sign.found.read(read),
                "means": sign.means.read(read), "cure": sign.cure.read(read),
            }
            for sign in signs[row["name"]]
        ]  # fmt: skip
        return {"name": row["name"], "file": row["file"], "error": row["error"], "signs": found, "figures": row}

    return {"schema": "policyhub.doctor/1", "points": [row_of(row) for row in rows]}


def _as_text(row: dict[str, Any], signs: list[MirrorSign], read: Callable[[str], str]) -> str:
    lines = [f"{row['name']}  {row['file']}"]
    if not signs:
        lines.append(f"  ok       {read(WELL) % row}")
    for sign in signs:
        lines.append(f"  {sign.code}: {sign.found.read(read)}")
        lines.append(f"    {read(MEANS)}: {sign.means.read(read)}")
        lines.append(f"    {read(CURE)}: {sign.cure.read(read)}")
    return "\n".join(lines) + "\n"
