"""EF enters here and nothing limits it: one job can starve every other priority flow of the port."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.checks.registry import check
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import Phb, QosClass, QosPolicy, phb_of

ATTACHED = gettext_noop("class %(class)s serves EF by strict priority without a limit on %(interfaces)s")
LOOSE = gettext_noop("class %(class)s serves EF by strict priority without a limit; it is attached nowhere")


@check("PH204", "ef-without-limit", severity=Severity.HIGH)
def ef_without_limit(policy: QosPolicy) -> Iterator[Finding]:
    """A queue that serves EF by strict priority has no policer, shaper or ceiling.

    Why it matters: RFC 3246 asks that EF arrivals stay below its service rate; strict priority without a limit starves the rest.
    Example: `class VOICE / priority` without `priority percent 30` or `police`.
    Suggested change: add a ceiling of at most a third of the port. Safe: it only bites when EF exceeds it.
    """
    for one in policy.classes:
        if one.queue is None or not one.queue.is_strict_priority or not _serves_ef(one) or _is_limited(one):
            continue
        interfaces = [attachment.interface for attachment in policy.attachments]
        said = Message(ATTACHED if interfaces else LOOSE, {"class": one.name, "interfaces": ", ".join(interfaces)})
        yield ef_without_limit.finding(
            policy.name,
            one.name,
            one.lines or policy.lines,
            said,
            evidence={"queue": one.queue.name, "interfaces": interfaces},
            severity=Severity.HIGH if interfaces else Severity.LOW,
        )


def _serves_ef(one: QosClass) -> bool:
    """By mark, or by everything; a class that selects by list or by other criteria is not known to serve EF."""
    if one.match.dscp is not None:
        return any(phb_of(mark) is Phb.EF for mark in one.match.dscp)
    return one.match.any


def _is_limited(one: QosClass) -> bool:
    queue = one.queue
    ceiling = queue is not None and (queue.ceiling_bps is not None or queue.ceiling_percent is not None)
    return ceiling or one.policer is not None or one.shaper is not None
