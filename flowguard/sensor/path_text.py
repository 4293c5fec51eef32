"""Between the points, for people: losses and delays of each hop, clocks, faults with their control group, what was changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowguard.sensor.tables import Read, count
from policyhub.domain.message import Message, gettext_noop

UNMATCHED = gettext_noop("%(n)d packets were seen at one point only and need not have passed the other.")
OUTSIDE = gettext_noop("%(n)d packets fell into a time in which not every capture ran: nothing is said about them.")
MISSED = gettext_noop(
    "%(n)d packets were not copied at %(point)s although they passed there: its mirror lost them, not the network."
)
WITHHELD = gettext_noop("Losses and delays are withheld: %(reason)s.")
CLOCKS = gettext_noop("Clocks: %(to)s was taken to be %(offset)s us ahead of %(from)s (%(basis)s, error %(error)s).")
DELAYS = gettext_noop("Delays withheld where %(reason)s.")
UNKNOWN, NONE, OTHERS = gettext_noop("unknown"), gettext_noop("none"), gettext_noop("others")
# What the engine says.
WORDS = (
    gettext_noop("estimated"), gettext_noop("given"), gettext_noop("bound"), gettext_noop("inconsistent"), gettext_noop("egress"),
)  # fmt: skip
REASONS = (
    gettext_noop("the figure is finer than the clocks' error"),
    gettext_noop("the figure is finer than the error of the estimated offset"),
    gettext_noop("packets of one direction only bound the offset on one side"),
    gettext_noop("the clocks drift by more than the packets' way takes, or an error was given too small"),
)
FAULT = gettext_noop(
    "FAULT %(where)s, class %(class)s: %(lost)s of %(sent)s lost (%(share).2f %%); %(cause)s. Confidence %(sure).3f."
)
BETWEEN = gettext_noop("between %(from)s and %(to)s")
CAUSES = {
    "queue-full": gettext_noop("its queue was full"),
    "queue-likely": gettext_noop("its queue was nearly full, or its packets waited longer than others: a full queue is likely"),
    "no-waiting": gettext_noop("its packets vanished without having waited"),
    "unknown": gettext_noop("what became of them is not known"),
}
SCOPES = {
    "class-only": gettext_noop("%(class)s only: %(others)s lost %(lost)s of %(sent)s on the same way"),
    "others-too": gettext_noop("not of this class alone: %(others)s lost %(lost)s of %(sent)s there, too"),
    "no-control": gettext_noop(
        "too few packets of other classes to tell whether it is this class alone (%(sent)s seen, %(lost)s lost)"
    ),
}
COULD_BE = gettext_noop("It could also be: %(doubts)s.")
DOUBTS = {
    "mirror-loss": gettext_noop("the mirror missed them"),
    "policer": gettext_noop("a policer or filter of the class"),
    "class-takes-another-way": gettext_noop("another way for this class"),
}
CHANGED = gettext_noop("%(field)s changed from %(before)s to %(after)s between %(from)s and %(to)s: %(flow)s, %(n)s packets")
MORE = gettext_noop("and %(n)d more changes (--format json has all)")
CHANGES = 10


def path_notes(path: dict[str, Any], read: Read = gettext_noop) -> Iterator[str]:
    """What stands below the table of one hop, a line each."""
    if path["unmatched"]:
        yield read(UNMATCHED) % {"n": path["unmatched"]}
    if path["outside"]:
        yield read(OUTSIDE) % {"n": path["outside"]}
    for name, missed in zip((path["from"], path["to"]), path["missed"], strict=True):
        if missed:
            yield read(MISSED) % {"n": missed, "point": name}
    yield from (Message(WITHHELD, {"reason": reason}).read(read) for reason in path.get("withheld", ()))
    yield from _clock(path, read)
    faults = [path["fault"], *path["other_faults"]] if path["fault"] else []
    for fault in faults:
        yield from _fault(fault, read)
    yield from _changes(path, read)


def _clock(path: dict[str, Any], read: Read) -> Iterator[str]:
    clock = path["clock"]
    if clock["basis"] == "assumed":
        return
    error = read(UNKNOWN) if clock["error_ns"] is None else f"{clock['error_ns'] / 1e3:,.1f} us"
    yield read(CLOCKS) % {
        "to": path["to"], "from": path["from"], "offset": f"{clock['offset_ns'] / 1e3:,.1f}", "basis": read(clock["basis"]),
        "error": error,
    }  # fmt: skip
    if reason := path["delay_ns"].get("withheld"):
        yield read(DELAYS) % {"reason": read(reason)}


def _fault(fault: dict[str, Any], read: Read) -> Iterator[str]:
    place, own, control = fault["where"], fault["evidence"], fault["control"]
    side = read(place["side"]) if place["side"] else None
    device = " ".join(filter(None, (place["device"], side, place["port"])))
    between = read(BETWEEN) % {"from": place["from"], "to": place["to"]}
    yield read(FAULT) % {
        "where": f"{between}, {device}" if device else between, "class": fault["class"], "lost": count(own["lost"]),
        "sent": count(own["sent"]), "share": 100 * own["lost_share"], "cause": read(CAUSES[fault["cause"]]),
        "sure": fault["confidence"],
    }  # fmt: skip
    others = ", ".join(control["classes"]) or read(OTHERS)
    said = {"class": fault["class"], "others": others, "lost": count(control["lost"]), "sent": count(control["sent"])}
    yield "  " + read(SCOPES[fault["scope"]]) % said
    if fault["could_be"]:
        yield "  " + read(COULD_BE) % {"doubts": "; ".join(read(DOUBTS[doubt]) for doubt in fault["could_be"])}


def _changes(path: dict[str, Any], read: Read) -> Iterator[str]:
    rows = sorted(path["changes"], key=lambda row: -row["packets"])
    for row in rows[:CHANGES]:
        before, after = (read(NONE) if value is None else value for value in (row["before"], row["after"]))
        yield read(CHANGED) % {
            "field": row["field"].upper(), "before": before, "after": after, "from": row["from"], "to": row["to"],
            "flow": f"{row['proto']} {row['src']}:{row['sport']} > {row['dst']}:{row['dport']}", "n": count(row["packets"]),
        }  # fmt: skip
    if rows[CHANGES:]:
        yield read(MORE) % {"n": len(rows) - CHANGES}
