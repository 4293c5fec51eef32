"""A name that is used, and that nothing in the configuration defines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyhub.checks.context import Context
from policyhub.checks.registry import check
from policyhub.checks.wording import NEVER, listed, places_of
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.domain.rules import UNDEFINED_PERMITS, UNDEFINED_REFUSED, UNDEFINED_UNKNOWN, Policy, Rule

# what the device does with the traffic of the place, by the note that its parser leaves -> (how bad, what to say)
BOUND = {
    UNDEFINED_PERMITS: (
        Severity.HIGH,
        gettext_noop("bound to %(places)s and defined nowhere: the device lets everything through there"),
    ),
    UNDEFINED_UNKNOWN: (
        Severity.MEDIUM,
        gettext_noop("bound to %(places)s and defined nowhere: the vendor does not document what the device does there"),
    ),
    UNDEFINED_REFUSED: (
        Severity.INFO,
        gettext_noop("bound to %(places)s and not defined here: the device refuses that, so the text is not whole"),
    ),
}
#: Platforms that take a rule or an access list entry before its object exists; all others refuse the rule, or the commit.
LENIENT = frozenset({"cisco_nxos", "cisco_iosxr", "huawei_vrp", "h3c_comware", "sonic"})
#: Names there stand for what only the device or the cloud knows (members of a security group, lists filled while running).
RUN_TIME = frozenset({"aws", "azure", "gcp", "vmware_nsx", "mikrotik"})
#: Names that a device knows without being told, and user groups, which are no operands of the model.
PREDEFINED = {
    "juniper_junos": re.compile(r"^junos-"),
    "paloalto_panos": re.compile(r"^(?:[A-Z]{2}|panw-.+)$"),
}
NAMED = 100  # rules that a finding names; it says how many there are
USER_GROUP = re.compile(r"\b(?:user-group|ucl-group|geo-location) (\S+)")
USED = gettext_noop(
    "%(names)s: used here and defined nowhere; what the device does then is not documented, and the rules that use it "
    "(%(rules)d) cannot be judged"
)
PARTIAL = gettext_noop(
    "%(names)s: used here and not defined; the device refuses unknown names, so the text is not whole or the name is predefined, "
    "and the rules that use it (%(rules)d) cannot be judged"
)


@check("PH011", "undefined-reference", severity=Severity.MEDIUM)
def undefined_reference(policy: Policy, context: Context) -> Iterator[Finding]:
    """A list, object, group, service or chain is used here and defined nowhere.

    Of a list that is bound to an interface the finding says what the device does there, as far as its vendor documents it:
    severity high where everything passes (IOS, IOS XR, NX-OS), medium where nobody says, info where the device refuses such a
    binding, so that only the text can be incomplete. Names inside rules are told once for each list. Names that the device
    resolves itself (host names, dynamic groups, countries) are defined; configurations that a manager owns hold only a part
    of their objects and are left out.

    Why it matters: it looks like protection and is none, or the file that was audited is not the whole one. Both are worth
    knowing before anybody relies on the rest.
    Example: `ip access-group BRANCH_IN in` on a router without an access list BRANCH_IN: IOS permits everything.
    Suggested change: define what is missing, or take the reference away. With a text that is not whole, collect it again. Safe in
    a quiet hour only: a list that is defined at last begins to filter at once.
    """
    notes = [note for note in policy.notes if note in BOUND]
    if notes and not policy.rules:
        severity, template = BOUND[notes[0]]
        places = places_of(policy.bindings)
        said = Message(template, {"places": listed(places)})
        yield undefined_reference.finding(
            policy.name, "", policy.lines, said, severity=severity, evidence={"interfaces": places, "undefined": [policy.name]}
        )
        return
    if context.device.managed_by or context.device.platform in RUN_TIME:
        return
    known = context.remember("defined names", lambda: _defined(context.device))
    using = [(rule, names) for rule in policy.rules if rule.enabled and (names := _missing(context.device.platform, rule, known))]
    if using:
        names = list(dict.fromkeys(name for _, missing in using for name in missing))
        lenient = context.device.platform in LENIENT
        said = Message(USED if lenient else PARTIAL, {"rules": len(using), "names": listed(names)})
        yield undefined_reference.finding(
            policy.name,
            "",
            tuple(line for rule, _ in using[:NAMED] for line in rule.lines[:1]),
            said,
            by=tuple(rule.name for rule, _ in using[:NAMED]),
            severity=Severity.LOW if lenient else Severity.INFO,
            evidence={"undefined": names, "rules": len(using)},
        )


def _defined(device: DeviceConfig) -> frozenset[str]:
    """Names of objects and groups as rules write them: without their context, and whatever the case."""
    operands: tuple[AddressObject | ServiceObject | ObjectGroup, ...] = (*device.addresses, *device.services, *device.groups)
    policies = (policy.name for policy in device.policies if policy.is_defined)
    names: list[str] = [*(one.name for one in operands), *policies]
    return frozenset(part.casefold() for name in names for part in (name, name.rpartition(" ")[2], name.rpartition("/")[2]))


def _missing(platform: str, rule: Rule, known: frozenset[str]) -> list[str]:
    """Unresolved names that the rule itself writes. Others are the device's to resolve, or stand inside a group that is known."""
    if not (rule.match.unresolved or rule.target):
        return []
    written = {name.casefold() for name in rule.references}
    names = [name for name in rule.match.unresolved if name.casefold() in written or name.startswith("chain ")]
    names += [rule.target] if rule.target and not rule.match.unresolved else []
    predefined, groups = PREDEFINED.get(platform, NEVER), USER_GROUP.findall(rule.text)
    return [
        name
        for name in dict.fromkeys(names)
        if name.removeprefix("@").casefold() not in known and not predefined.match(name) and name not in groups
    ]
