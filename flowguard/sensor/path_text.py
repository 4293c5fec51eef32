"""Between the points, for people: losses and delays of each hop, clocks, faults with their control group, what was changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CAUSES = {
    "queue-full": "its queue was full",
    "queue-likely": "its queue was nearly full, or its packets waited longer than others: a full queue is likely",
    "no-waiting": "its packets vanished without having waited",
    "unknown": "what became of them is not known",
}
SCOPES = {
    "class-only": "{class_} only: {others} lost {lost:,} of {sent:,} on the same way",
    "others-too": "not of this class alone: {others} lost {lost:,} of {sent:,} there, too",
    "no-control": "too few packets of other classes to tell whether it is this class alone ({sent:,} seen, {lost:,} lost)",
}
DOUBTS = {
    "mirror-loss": "the mirror missed them",
    "policer": "a policer or filter of the class",
    "class-takes-another-way": "another way for this class",
}
CHANGES = 10


def path_notes(path: dict[str, Any]) -> Iterator[str]:
    """What stands below the table of one hop, a line each."""
    if path["unmatched"]:
        yield f"{path['unmatched']} packets were seen at one point only and need not have passed the other."
    if path["outside"]:
        yield f"{path['outside']} packets fell into a time in which not every capture ran: nothing is said about them."
    for name, missed in zip((path["from"], path["to"]), path["missed"], strict=True):
        if missed:
            yield f"{missed} packets were not copied at {name} although they passed there: its mirror lost them, not the network."
    yield from (f"Losses and delays are withheld: {reason}." for reason in path.get("withheld", ()))
    yield from _clock(path)
    faults = [path["fault"], *path["other_faults"]] if path["fault"] else []
    for fault in faults:
        yield from _fault(fault)
    yield from _changes(path)


def _clock(path: dict[str, Any]) -> Iterator[str]:
    clock = path["clock"]
    if clock["basis"] == "assumed":
        return
    error = "unknown" if clock["error_ns"] is None else f"{clock['error_ns'] / 1e3:,.1f} us"
    yield (
        f"Clocks: {path['to']} was taken to be {clock['offset_ns'] / 1e3:,.1f} us ahead of {path['from']}"
        f" ({clock['basis']}, error {error})."
    )
    if path["delay_ns"].get("withheld"):
        yield f"Delays withheld where {path['delay_ns']['withheld']}."


def _fault(fault: dict[str, Any]) -> Iterator[str]:
    place, own, control = fault["where"], fault["evidence"], fault["control"]
    where = " ".join(filter(None, (place["device"], place["side"], place["port"])))
    between = f"between {place['from']} and {place['to']}" + (f", {where}" if where else "")
    yield (
        f"FAULT {between}, class {fault['class']}: {own['lost']:,} of {own['sent']:,} lost"
        f" ({100 * own['lost_share']:.2f} %); {CAUSES[fault['cause']]}. Confidence {fault['confidence']:.3f}."
    )
    said = SCOPES[fault["scope"]].format(
        class_=fault["class"], others=", ".join(control["classes"]) or "others", lost=control["lost"], sent=control["sent"]
    )
    yield f"  {said}"
    if fault["could_be"]:
        yield f"  It could also be: {'; '.join(DOUBTS[doubt] for doubt in fault['could_be'])}."


def _changes(path: dict[str, Any]) -> Iterator[str]:
    rows = sorted(path["changes"], key=lambda row: -row["packets"])
    for row in rows[:CHANGES]:
        before, after = ("none" if value is None else value for value in (row["before"], row["after"]))
        yield (
            f"{row['field'].upper()} changed from {before} to {after} between {row['from']} and {row['to']}: {row['proto']}"
            f" {row['src']}:{row['sport']} > {row['dst']}:{row['dport']}, {row['packets']:,} packets"
        )
    if rows[CHANGES:]:
        yield f"and {len(rows) - CHANGES} more changes (--format json has all)"
