"""Did a remark help? Judged by packets at a point that stands behind the changed device, never by the device's own counter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from policyhub.domain.change import EnforcementOutcome
from policyhub.domain.message import Message, gettext_noop

MARKED_SHARE_GOAL = 0.01
MIN_SEGMENTS = 50
WORSE_FACTOR = 1.5
WORSE_POINTS = 0.02
MIN_WINDOWS = 2
SECOND_NS = 1_000_000_000

TOO_FEW = gettext_noop("too few complete seconds were seen after the change")
WAITING = gettext_noop("%(windows)d of %(needed)d complete seconds seen after the change")
ROSE = gettext_noop("retransmissions of DSCP %(dscp)d rose after the change")
STOPPED = gettext_noop("the offender sends nothing any more")
SHARE = gettext_noop("%(percent).2f %% of the offender's bytes still carry the mark")


@dataclass(frozen=True, slots=True)
class Window:
    """One second of packet time at the verifying point.

    marked_bytes: the offender's bytes that still carry a mark of the guard. offender_bytes: all of its bytes.
    others_*: TCP data segments and retransmissions of everybody, per DSCP.
    """

    start_ns: int
    complete: bool
    marked_bytes: int
    offender_bytes: int
    segments: tuple[tuple[int, int], ...] = ()
    retransmitted: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """outcome None: not decided yet, look again. figures: what it was decided by, for the page."""

    outcome: EnforcementOutcome | None
    reason: Message
    figures: dict[str, object]


def judge(
    before: Sequence[Window], after: Sequence[Window], *, marks: frozenset[int], target_dscp: int, deadline: bool
) -> Judgement:
    """Compare windows before the push with those after it.

    marks: classes protected by the guard. target_dscp: the class that takes the remarked packets; its retransmissions may rise.
    deadline: no further windows will be waited for.
    """
    usable = [window for window in after if window.complete]
    figures = _figures(before, usable, marks)
    if len(usable) < MIN_WINDOWS:
        if deadline:
            return Judgement(EnforcementOutcome.CANNOT_TELL, Message(TOO_FEW), figures)
        return Judgement(None, Message(WAITING, {"windows": len(usable), "needed": MIN_WINDOWS}), figures)
    worse = _worse_class(before, usable, leave_out=target_dscp)
    if worse is not None:
        return Judgement(EnforcementOutcome.HARMED, Message(ROSE, {"dscp": worse}), figures)
    offender = sum(window.offender_bytes for window in usable)
    if offender == 0:
        return Judgement(EnforcementOutcome.OFFENDER_STOPPED, Message(STOPPED), figures)
    recent = usable[-MIN_WINDOWS:]
    sent = sum(window.offender_bytes for window in recent)
    share = sum(window.marked_bytes for window in recent) / sent if sent else 0.0
    said = Message(SHARE, {"percent": share * 100})
    if share < MARKED_SHARE_GOAL:
        return Judgement(EnforcementOutcome.HELPED, said, figures)
    if deadline:
        return Judgement(EnforcementOutcome.CANNOT_TELL, said, figures)
    return Judgement(None, said, figures)


def _rates(windows: Iterable[Window]) -> dict[int, tuple[int, int]]:
    totals: dict[int, tuple[int, int]] = {}
    for window in windows:
        repeated = dict(window.retransmitted)
        for dscp, segments in window.segments:
            known = totals.get(dscp, (0, 0))
            totals[dscp] = (known[0] + segments, known[1] + repeated.get(dscp, 0))
    return totals


def _worse_class(before: Sequence[Window], after: Sequence[Window], leave_out: int) -> int | None:
    """The first class whose retransmission ratio rose clearly, with enough segments on both sides to say so."""
    old, new = _rates(window for window in before if window.complete), _rates(after)
    for dscp in sorted(set(old) & set(new) - {leave_out}):
        (old_segments, old_again), (new_segments, new_again) = old[dscp], new[dscp]
        if min(old_segments, new_segments) < MIN_SEGMENTS:
            continue
        was, now = old_again / old_segments, new_again / new_segments
        if now > was * WORSE_FACTOR + WORSE_POINTS:
            return dscp
    return None


def _figures(before: Sequence[Window], after: Sequence[Window], marks: frozenset[int]) -> dict[str, object]:
    """Both sides alike: as many seconds directly before the push as there are after it, both of those in which it sent."""
    old, new = [w for w in before if w.complete], [w for w in after if w.complete]
    sent_old, sent_new = _sending(old), _sending(new)
    at_most = min(len(sent_old), len(sent_new)) or max(len(sent_old), len(sent_new))
    return {"before": _side(old, sent_old[-at_most:], marks), "after": _side(new, sent_new[-at_most:], marks)}


def _sending(usable: Sequence[Window]) -> list[Window]:
    """Seconds in which it sent, without those in which it only began, where there are others."""
    known = {window.start_ns: window.offender_bytes for window in usable}
    sent = [window for window in usable if window.offender_bytes]
    return [window for window in sent if known.get(window.start_ns - SECOND_NS) != 0] or sent


def _side(usable: Sequence[Window], sent: Sequence[Window], marks: frozenset[int]) -> dict[str, object]:
    """usable: complete seconds looked at; sent: those that rates are means over. Null, not zero, where nothing was measured.

    from_ns, to_ns: around the seconds of the rates, around all where the sender was silent (its rates are 0 then).
    """
    span = sent or usable
    around: dict[str, object] = {
        "windows": len(usable),
        "sending": len(sent),
        "from_ns": span[0].start_ns if span else None,
        "to_ns": span[-1].start_ns + SECOND_NS if span else None,
    }
    if not usable:
        return {**around, "marked_bps": None, "offender_bps": None, "marked_share": None, "retransmitted_ratio": None}
    marked, total = sum(w.marked_bytes for w in sent), sum(w.offender_bytes for w in sent)
    protected = [rate for dscp, rate in _rates(usable).items() if dscp in marks]
    segments = sum(s for s, _ in protected)
    return {
        **around,
        "marked_bps": marked * 8 // len(span),
        "offender_bps": total * 8 // len(span),
        "marked_share": marked / total if total else None,
        "retransmitted_ratio": sum(r for _, r in protected) / segments if segments else None,
    }
