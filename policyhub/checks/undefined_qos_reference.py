"""A QoS policy, class or list that is used, and that nothing in the configuration defines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyhub.checks.context import Context
from policyhub.checks.registry import check
from policyhub.checks.wording import NEVER, listed, places_of
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import QosClass, QosPolicy

PREDEFINED = {  # NX-OS: the system's own QoS policies; ASA: the class of its default inspection
    "cisco_nxos": re.compile(r"^(?:class-map )?(?:type \S+ )?(?:default-|c-(?:in|out|nq)-?|class-fcoe|class-default)"),
    "cisco_asa": re.compile(r"^class-map inspection_default$"),
}
MISSING = " is not defined"  # ends a criterion of a class that its parser could not find
ATTACHED = gettext_noop("attached to %(places)s and defined nowhere: it does nothing for their traffic")
USES = gettext_noop("uses what is defined nowhere (%(names)s): which packets these classes take cannot be told")


@check("PH205", "undefined-qos-reference", severity=Severity.MEDIUM)
def undefined_qos_reference(policy: QosPolicy, context: Context) -> Iterator[Finding]:
    """A QoS policy is attached, or uses a class, list or child policy, that is defined nowhere.

    Severity medium where the policy is attached, low where it is not. Configurations that a manager owns are left out.

    Why it matters: traffic that somebody believes to be in the priority queue is served as any other, or the file that was
    audited is not the whole one.
    Example: `service-policy output WAN-EDGE` on a port, and no `policy-map WAN-EDGE`; `match access-group name VOICE` without
    such a list.
    Suggested change: define what is missing, or take the reference away. Safe when done in a quiet hour: marking and queueing
    of the port change at once.
    """
    if context.device.managed_by:
        return
    places = places_of(policy.attachments)
    if places and not policy.classes and set(policy.lines) <= {line for one in policy.attachments for line in one.lines}:
        if PREDEFINED.get(context.device.platform, NEVER).match(policy.name):
            return
        said = Message(ATTACHED, {"places": listed(places)})
        evidence = {"interfaces": places, "undefined": [policy.name]}
        yield undefined_qos_reference.finding(policy.name, "", policy.lines, said, evidence=evidence)
        return
    known = context.remember("defined for QoS", lambda: _defined(context.device))
    using = [(one, names) for one in policy.classes if (names := _missing(context.device.platform, one, known))]
    if using:
        names = list(dict.fromkeys(name for _, missing in using for name in missing))
        yield undefined_qos_reference.finding(
            policy.name,
            "",
            tuple(line for one, _ in using for line in one.lines[:1]),
            Message(USES, {"names": listed(names)}),
            by=tuple(one.name for one, _ in using),
            severity=Severity.MEDIUM if places else Severity.LOW,
            evidence={"interfaces": places, "undefined": names},
        )


def _defined(device: DeviceConfig) -> frozenset[str]:
    policies = (policy.name for policy in device.policies if policy.is_defined)
    return frozenset(name.casefold() for name in (*policies, *(policy.name for policy in device.qos_policies if policy.classes)))


def _missing(platform: str, one: QosClass, known: frozenset[str]) -> list[str]:
    names = [text.removesuffix(MISSING) for text in one.match.other if text.endswith(MISSING)]
    names += [acl for acl in one.match.acls if acl.casefold() not in known]
    names += [one.child_policy] if one.child_policy and one.child_policy.casefold() not in known else []
    return [name for name in names if not PREDEFINED.get(platform, NEVER).match(name)]
