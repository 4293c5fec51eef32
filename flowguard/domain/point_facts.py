"""What is known of points by marked probes, as a file, and what a report may then say of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from flowguard.domain.mirror import blank
from flowguard.domain.probe import PointFacts
from policyhub.domain.errors import BadInput
from policyhub.domain.finding import Severity
from policyhub.domain.message import Message, gettext_noop

SCHEMA = "policyhub.point-facts/1"
WORDS = {
    "rewrite": {"before", "after", "both", "unknown"}, "egress_drop": {"before", "after", "unknown"},
    "tags": {"kept", "stripped", "some", "none", "unknown"}, "pause": {"seen", "not-seen", "unknown"},
}  # fmt: skip
NUMBERS = {"cut_to": 262_144, "duplicates": 1, "mirror_loss": 1}
OF_MARKS = ("class-not-allowed", "unknown-identity-in-priority")
OF_QUEUES = ("microburst", "queue-saturated")
BEFORE_DROP = gettext_noop(
    "copies at %(point)s are made before its egress queue (probes): what is lost or waits there cannot be seen"
)
AFTER_REWRITE = gettext_noop("copies at %(point)s carry marks as the device leaves them (probes): who set them cannot be told")
BEFORE_REWRITE = gettext_noop(
    "copies at %(point)s carry marks as they came (probes): what its device changes shows further on only"
)


def read_facts(text: str, file: str) -> dict[str, PointFacts]:
    """By point. Raises BadInput naming the file, the place and the cure."""
    try:
        found = json.loads(text)
        points = found["points"]
        if found["schema"] != SCHEMA or not isinstance(points, dict):
            raise KeyError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInput.at(
            file, None, f"not a file of {SCHEMA}", "Write it by `policyhub sensor probe judge --into FILE`"
        ) from None
    return {name: _facts(row, f"points.{name}", file) for name, row in points.items()}


def _facts(row: Any, place: str, file: str) -> PointFacts:
    if not isinstance(row, dict):
        raise BadInput.at(file, None, f"{place} is no object", "Write it by `policyhub sensor probe judge --into FILE`")
    for key, words in WORDS.items():
        if not isinstance(row.get(key, "unknown"), str) or row.get(key, "unknown") not in words:
            raise BadInput.at(file, None, f"{place}.{key} is {row[key]!r}", f"Write one of {', '.join(sorted(words))}")
    for key, most in NUMBERS.items():
        value = row.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most):
            raise BadInput.at(file, None, f"{place}.{key} is {value!r}", f"Write a number from 0 to {most}, or null")
    return PointFacts(**{field.name: row[field.name] for field in fields(PointFacts) if field.name in row})


def with_point(facts: Mapping[str, Any] | None, point: str, row: PointFacts, figures: Mapping[str, Any]) -> dict[str, Any]:
    """The file's content with one point put in or replaced."""
    others = dict(facts["points"]) if facts else {}
    return {"schema": SCHEMA, "points": {**others, point: {**asdict(row), "figures": dict(figures)}}}


def respect(report: dict[str, Any], facts: Mapping[str, PointFacts]) -> None:
    """Take back from `policyhub.flows/1` what the mirrors of its points cannot show; each time a sentence says so."""
    for point in report["points"]:
        known = facts.get(point["name"])
        point["calibration"] = asdict(known) | {"limits": _limits(point["name"], known)} if known else None
        if known and known.egress_drop == "before":
            for kind in ("queues", "microbursts", "saturations"):
                point[kind] = [row for row in point[kind] if row["basis"] != "measured"]
    for path in filter(None, [report["path"], *report["paths"]]):
        known = facts.get(path["to"])
        if known and known.egress_drop == "before":
            path["withheld"] = [*path.get("withheld", ()), Message(BEFORE_DROP, {"point": path["to"]})]
            blank(path)
    doubt(report["verdicts"], facts)


def doubt(verdicts: Iterable[dict[str, Any]], facts: Mapping[str, PointFacts]) -> None:
    """Verdicts that the point's mirror cannot bear become severity info, and their evidence says why."""
    for verdict in verdicts:
        known = facts.get(verdict["point"])
        if known:
            _doubt(verdict, known)


def _limits(name: str, known: PointFacts) -> list[Message]:
    rows = (
        (known.egress_drop == "before", BEFORE_DROP),
        (known.rewrite == "after", AFTER_REWRITE),
        (known.rewrite == "before", BEFORE_REWRITE),
    )
    return [Message(text, {"point": name}) for holds, text in rows if holds]


def _doubt(verdict: dict[str, Any], known: PointFacts) -> None:
    """A host is not blamed for a mark that the device may have set; a queue is not, by copies that never stood in it."""
    is_of_mark = verdict["name"] in OF_MARKS and known.rewrite in ("after", "both")
    is_measured = any(fact.get("kind") == "queue" and fact.get("basis") == "measured" for fact in verdict["evidence"])
    is_of_queue = verdict["name"] in OF_QUEUES and is_measured and known.egress_drop == "before"
    if is_of_mark or is_of_queue:
        verdict["severity"] = Severity.INFO.value
        said = {"rewrite": known.rewrite} if is_of_mark else {"egress_drop": known.egress_drop}
        verdict["evidence"] = [*verdict["evidence"], {"kind": "calibrated", "point": verdict["point"], **said}]
