"""What probes would do, and what they showed, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowguard.domain.probe import LEAST_COPIES, PointFacts
from flowguard.sensor.probing import Plan
from policyhub.domain.message import gettext_noop
from policyhub.domain.qos import dscp_name

WOULD = gettext_noop(
    "Nothing was sent. With --go: %(packets)d packets to %(to)s, UDP port %(port)d, %(rate)d a second (%(kbps)d kbit/s), %(s)d s"
)
DONE = gettext_noop("Sent: %(packets)d packets to %(to)s, UDP port %(port)d, %(rate)d a second (%(kbps)d kbit/s)")
MARKS = gettext_noop("marks: %(marks)s; run %(run)s")
HEAD = gettext_noop("%(point)s: %(copied)d probes of run %(run)s were copied")
NOBODY = gettext_noop(
    "%(point)s: no probe is in the capture. See that it ran meanwhile, kept 160 bytes a frame, and that the port is mirrored"
)
FEW = gettext_noop("Fewer than %(least)d: nothing is told of marks, drops and tags.")
REWRITE = {
    "before": gettext_noop("marks: copies are made before the device changes them"),
    "after": gettext_noop("marks: copies show them changed, so who set a mark cannot be told here"),
    "both": gettext_noop("marks: every packet is copied before and after they are changed"),
    "unknown": gettext_noop(
        "marks: whether copies show them changed is not known: nothing was changed on the way, or there is no receiver's capture"
    ),
}
DROP = {
    "before": gettext_noop(
        "drops: what is lost on the way out is copied all the same, so losses and waiting behind it are not seen"
    ),
    "after": gettext_noop("drops: what is lost on the way out is not copied"),
    "unknown": gettext_noop("drops: not known; it takes a receiver's capture, and a class that loses while the probes pass"),
}
TAGS = {
    "kept": gettext_noop("VLAN tags: kept"),
    "stripped": gettext_noop("VLAN tags: stripped"),
    "some": gettext_noop("VLAN tags: on some copies only"),
    "none": gettext_noop("VLAN tags: none on the copies; with --tagged that means stripped"),
    "unknown": gettext_noop("VLAN tags: not known"),
}
PAUSE = {
    "seen": gettext_noop("pause frames: seen"),
    "not-seen": gettext_noop("pause frames: none seen, which does not mean that there were none"),
    "unknown": gettext_noop("pause frames: not looked for"),
}
CUT = gettext_noop("frames: cut to %(bytes)d bytes at most")
WHOLE = gettext_noop("frames: whole")
DOUBLES = gettext_noop("copied more than once: %(percent).2f %% of the probes")
LOST = gettext_noop("mirror loss: %(lost)d of %(arrived)d that arrived were not copied (%(percent).3f %%)")


def sending_as_text(plan: Plan, sent: bool, read: Callable[[str], str]) -> str:
    packets = len(plan.sequence)
    values = {
        "packets": packets, "to": plan.to, "port": plan.port, "rate": plan.per_second,
        "kbps": round(plan.bits_per_second / 1000), "s": -(-packets // plan.per_second),
    }  # fmt: skip
    marks = read(MARKS) % {"marks": ", ".join(map(dscp_name, plan.marks)), "run": plan.run}
    return f"{read(DONE if sent else WOULD) % values}\n{marks}\n"


def judged_as_text(point: str, facts: PointFacts, figures: Mapping[str, Any], read: Callable[[str], str]) -> str:
    copied = figures["copied"]
    if not copied:
        return read(NOBODY) % {"point": point} + "\n"
    lines = [read(HEAD) % {"point": point, "copied": copied, "run": figures["run"]}]
    if copied < LEAST_COPIES:
        lines.append(read(FEW) % {"least": LEAST_COPIES})
    lines += [read(REWRITE[facts.rewrite]), read(DROP[facts.egress_drop]), read(TAGS[facts.tags]), read(PAUSE[facts.pause])]
    lines.append(read(WHOLE) if facts.cut_to is None else read(CUT) % {"bytes": facts.cut_to})
    if facts.duplicates is not None:
        lines.append(read(DOUBLES) % {"percent": 100 * facts.duplicates})
    if facts.mirror_loss is not None:
        lost, arrived = figures["arrived_not_copied"], figures["arrived"]
        lines.append(read(LOST) % {"lost": lost, "arrived": arrived, "percent": 100 * facts.mirror_loss})
    return "\n  ".join(lines) + "\n"
