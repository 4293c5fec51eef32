"""What a command is told about the points' clocks and mirrors."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

import native_capture
from flowguard.domain.mirror import LIMIT, Reading, Truth, by_sequence, compare, is_doubtful, own_drops, read_counters, withhold
from flowguard.domain.point_facts import read_facts, respect
from flowguard.sensor.words import no_such_point
from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.reading import read_text


def mirror_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--clock-error", action="append", default=[], metavar="POINT=NS",
        help="error of a point's clock against true time, in nanoseconds (chrony, PTP); 0 for points of one machine",
    )  # fmt: skip
    parser.add_argument(
        "--counters", action="append", default=[], metavar="POINT=FILE",
        help="readings of the mirrored port's counters (CSV time,packets,bytes, or JSON): what its mirror lost is no loss",
    )  # fmt: skip
    unwrap_argument(parser)
    timestamps_argument(parser)
    parser.add_argument(
        "--mirror-loss", type=_share, default=LIMIT, metavar="PERCENT",
        help=f"above this mirror loss no loss and no delay is claimed (default {100 * LIMIT:g})",
    )  # fmt: skip
    parser.add_argument(
        "--point-facts", metavar="FILE",
        help="what `policyhub sensor probe judge --into FILE` found out: nothing is claimed that the points' mirrors cannot show",
    )  # fmt: skip


def unwrap_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--unwrap", action="append", default=[], metavar="POINT=WRAP",
        help="a point whose frames a mirror wrapped in erspan, vxlan, geneve or gre (erspan:10 = session 10 only): what is inside"
        " is measured as though it had been captured there, everything else is counted apart",
    )  # fmt: skip


def timestamps_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timestamps", action="append", default=[], metavar="POINT=BY",
        help="times that the point's frames bear instead of the capture's: by erspan (type III, unwrapped), metamako, vss, ixia,"
        " arista",
    )  # fmt: skip


def apply_facts(report: dict[str, Any], file: str | None) -> bool:
    """Takes out what the points' mirrors cannot show; False without a file. Raises BadInput when it has none of the points."""
    if file is None:
        return False
    facts = read_facts(read_text(file), file)
    names = [point["name"] for point in report["points"]]
    if not set(names) & set(facts):
        knows_none = Message(gettext_noop("knows none of the points %(names)s"), {"names": ", ".join(names)})
        cure = Message(gettext_noop("It knows: %(names)s"), {"names": ", ".join(facts) or "-"})
        raise BadInput.at(file, None, knows_none, cure)
    respect(report, facts)
    return True


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage from 0 to 100")
    return value / 100


def _pairs(texts: Sequence[str], option: str, form: str, names: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            said = gettext_noop("%(option)s %(given)r: not of the form %(form)s")
            raise BadInput.of(said, option=option, given=text, form=form)
        if name not in names:
            raise no_such_point(option, name, names)
        found[name] = value
    return found


def clock_errors(args: argparse.Namespace, points: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    """(point, ns). Raises BadInput."""
    found = _pairs(args.clock_error, "--clock-error", "POINT=NS", [name for name, _ in points])
    for name, text in found.items():
        if not text.isdecimal() or int(text) > 10**15:
            said = gettext_noop("--clock-error %(name)s=%(given)s: not a number of nanoseconds below 10^15")
            raise BadInput.of(said, name=name, given=text)
    return [(name, int(text)) for name, text in found.items()]


def unwraps(args: argparse.Namespace, points: Sequence[tuple[str, str]]) -> dict[str, str]:
    """How the frames of points are wrapped. Raises BadInput; the engine says what is wrong with a wrap."""
    return _pairs(args.unwrap, "--unwrap", "POINT=WRAP", [name for name, _ in points])


def timestamps(args: argparse.Namespace, points: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Who stamped the frames of points. Raises BadInput; the engine says what is wrong with a name."""
    return _pairs(args.timestamps, "--timestamps", "POINT=BY", [name for name, _ in points])


def apply_mirrors(report: dict[str, Any], args: argparse.Namespace) -> bool:
    """Adds what is known of each mirror, and claims nothing where one lost too much; False when nothing is known.

    Raises BadInput, CaptureError.
    """
    if args.exports:
        if args.counters or args.clock_error:
            raise BadInput.of(gettext_noop("--counters and --clock-error speak of captures. Leave them out with --exports"))
        return False
    points = [(point["name"], point["file"]) for point in report["points"]]
    files = _pairs(args.counters, "--counters", "POINT=FILE", [name for name, _ in points])
    opened = {point["name"]: by_sequence(_opened(point)) for point in report["points"] if point.get("unwrap")}
    numbered = {point["name"] for point in report["points"] if any(map(_is_numbered, point["headers"]["tunnels"]))}
    has_sequence = numbered - set(opened)
    looked_at = [(name, file) for name, file in points if name in files or name in has_sequence]
    readable = [(name, file) for name, file in looked_at if file != "-"]
    if any(name in files for name, _ in set(looked_at) - set(readable)):
        raise BadInput.of(gettext_noop("--counters needs captures that are files. Write standard input into one"))
    if not readable and not opened and not any(own_drops(point) or is_doubtful(point) for point in report["points"]):
        return False
    found = truths(readable, files, unwraps(args, points)) if readable else []
    withhold(report, [*found, *(truth for name, truth in opened.items() if name not in files)], args.mirror_loss)
    return True


def _opened(point: dict[str, Any]) -> dict[str, Any]:
    """As a row of `policyhub.inspect/1`: the figures of wrapped frames."""
    return {"name": point["name"], "frames": point["packets"], "mirrors": point["unwrap"]}


def _is_numbered(tunnel: str) -> bool:
    return tunnel.startswith(("erspan-2", "erspan-3"))


def truths(points: Sequence[tuple[str, str]], counters: dict[str, str], unwrap: dict[str, str]) -> list[Truth]:
    """Of each point (name, capture); counters: file of readings by point; unwrap: of points whose frames are wrapped."""
    readings: dict[str, list[Reading]] = {name: read_counters(read_text(file), file) for name, file in counters.items()}
    marks = {name: [reading.time_ns for reading in rows] for name, rows in readings.items()}
    found = json.loads(native_capture.inspect(points, marks=marks, unwrap=unwrap))["points"]
    return [compare(row, readings[row["name"]]) if row["name"] in readings else by_sequence(row) for row in found]
