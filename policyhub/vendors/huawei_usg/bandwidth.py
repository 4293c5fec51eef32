"""`traffic-policy`: bandwidth profiles and the rules that use them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy, Queue
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, dscp_in, is_decimal, number_in
from policyhub.vendorkit.vrp_lines import name_behind
from policyhub.vendors.huawei_usg.reading import Reading, Vsys
from policyhub.vendors.huawei_usg.security import rule_name

NAME = "traffic-policy"
OTHER_LIMITS = ("per-", "ip-car", "priority", "connection", "session", "average", "dynamic")
WAYS = ("upstream", "downstream", "total")
MATCHES = (
    "source-zone", "destination-zone", "source-address", "destination-address", "service", "application", "user", "time-range",
    "ingress-interface", "egress-interface", "url-category", "vlan-id", "source-address-exclude", "destination-address-exclude",
    "schedule", "device-classification", "access-authentication", "source-user",
)  # fmt: skip


@dataclass(slots=True)
class _Profile:
    """Rates in bit/s by direction."""

    name: str
    lines: tuple[int, ...] = ()
    maximum: dict[str, int] = field(default_factory=dict)
    guaranteed: dict[str, int] = field(default_factory=dict)
    marker: Marker | None = None


def read(reading: Reading, vsys: Vsys, blocks: list[Block]) -> QosPolicy | None:
    """All `traffic-policy` blocks of one virtual system; None when there is none."""
    profiles: dict[str, _Profile] = {}
    classes: list[QosClass] = []
    numbers: list[int] = []
    for block in blocks:
        reading.ledger.understood(block.number)
        numbers += block.numbers
        for child in block.children:
            if child.words[0].lower() == "profile":
                profile = _profile(reading, child)
                profiles[profile.name] = profile
    for child in (child for block in blocks for child in block.children):
        try:
            if child.words[0].lower() == "rule":
                classes += _rule(reading, child, profiles)
                reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    if not blocks:
        return None
    attached = (QosAttachment("", "forward"),)
    return QosPolicy(vsys.prefix + NAME, tuple(classes), attached, tuple(numbers))


def _profile(reading: Reading, block: Block) -> _Profile:
    profile = _Profile(name_behind(block.text, "profile"), block.numbers)
    reading.ledger.understood(block.number)
    for child in block.below():
        with reading.ledger.booking(child.line):
            words = Words(child.words)
            word = words.next().lower()
            if word == "bandwidth":
                _bandwidth(profile, words)
            elif word in ("dscp", "remark"):
                words.accept("dscp")
                profile.marker = Marker(dscp=dscp_in(words.next("a DSCP")))
            elif word not in ("description", "priority", "ip-car", "connection-limit", "reference-mode", "parent-profile"):
                raise NotUnderstood(f"{word[:40]!r} is not understood in a bandwidth profile")
    return profile


def _bandwidth(profile: _Profile, words: Words) -> None:
    """`upstream maximum-bandwidth N`, `maximum-bandwidth whole upstream|both N`: kbit/s; per address and connections pass."""
    told = [word.lower() for word in words.rest().split()]
    kind = next((word for word in told if word in ("maximum-bandwidth", "guaranteed-bandwidth")), "")
    if any(word.startswith(OTHER_LIMITS) for word in told):
        return
    if not kind:
        raise NotUnderstood(f"{told[0][:40] if told else ''!r} is not a bandwidth")
    way = next((word for word in told if word in WAYS), "total")
    numbers = [word for word in told if is_decimal(word)]
    rate = number_in(numbers[0] if numbers else "", 0, 10**12, "a rate") * 1000
    (profile.maximum if kind.startswith("maximum") else profile.guaranteed)[way] = rate


def _rule(reading: Reading, block: Block, profiles: dict[str, _Profile]) -> list[QosClass]:
    name = rule_name(block)
    match = ClassMatch()
    profile = _Profile("")
    other: list[str] = []
    for child in block.below():
        try:
            words = Words(child.words)
            word = words.next().lower()
            if word == "disable":
                other.insert(0, "disabled")
            elif word in ("dscp", "dscp-priority"):
                match = replace(match, dscp=frozenset(dscp_in(text) for text in words.rest().split()))
            elif word == "action":
                profile = _action(words, profiles)
            elif word in MATCHES:
                other.append(" ".join(child.words))
            elif word not in ("description", "parent-rule", "enable", "tag", "priority", "mode"):
                raise NotUnderstood(f"{word[:40]!r} is not understood in a bandwidth rule")
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            other.append(f"not understood: {child.text[:80]}")
    match = replace(match, other=tuple(other), any=not other and match.dscp is None)
    plain = QosClass(name, match, marker=profile.marker, lines=(*block.numbers, *profile.lines))
    ways = [way for way in WAYS if way in profile.maximum or way in profile.guaranteed]
    return [_limited(plain, profile, way) for way in ways] or [plain]


def _action(words: Words, profiles: dict[str, _Profile]) -> _Profile:
    word = words.next("an action").lower()
    if word == "no-qos":
        return _Profile("")
    if word != "qos" or not words.accept("profile"):
        raise NotUnderstood(f"{word[:40]!r} is not qos profile or no-qos")
    name = words.rest().strip('"')
    if name not in profiles:
        raise NotUnderstood(f"profile {name[:40]!r} is not defined here")
    return profiles[name]


def _limited(plain: QosClass, profile: _Profile, way: str) -> QosClass:
    most, least = profile.maximum.get(way), profile.guaranteed.get(way)
    return replace(
        plain,
        name=f"{plain.name} {way}",
        policer=None if most is None else Policer(most),
        queue=None if least is None else Queue(profile.name, guaranteed_bps=least),
    )
