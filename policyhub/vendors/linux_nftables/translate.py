"""What a `snat`, `dnat`, `masquerade`, `redirect` or `tproxy` statement translates to."""

from __future__ import annotations

from dataclasses import replace

from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Action, Rule
from policyhub.vendors.linux_nftables.reading import Chain

KINDS = {"snat": NatKind.SOURCE, "masquerade": NatKind.SOURCE}
FLAGS = ("random", "fully-random", "persistent")
TPROXY = "tproxy: the packet keeps its addresses"


def nat_rule(rule: Rule, statement: str, chain: Chain, title: str) -> NatRule | None:
    """None for a rule that translates nothing; an `accept` in a chain of type nat leaves the packet as it is."""
    if not statement:
        if chain.kind != "nat" or rule.action is not Action.PERMIT:
            return None
        return _made(rule, NatKind.EXEMPT, chain, title)
    words = statement.split()
    verb, rest = words[0], [word for word in words[1:] if not _flags(word)]
    flags = [flag for word in words[1:] for flag in _flags(word)]
    if rest[:1] in (["ip"], ["ip6"]) and len(rest) > 1 and rest[1] in ("to", "prefix", "addr"):
        rest = rest[1:]
    text = " ".join(rest[1:] if rest[:1] == ["to"] else rest).removeprefix("addr . port to ").removeprefix("prefix to ")
    address, ports = _split(text)
    made = _made(rule, KINDS.get(verb, NatKind.DESTINATION), chain, title, tuple([TPROXY] if verb == "tproxy" else flags))
    if made.kind is NatKind.SOURCE:
        return replace(made, translated_source=address or "interface", translated_service=ports)
    return replace(made, translated_destination=address or "this host", translated_service=ports)


def _flags(word: str) -> list[str]:
    """`random,persistent` as its flags; [] when the word is something else."""
    parts = word.strip(",").split(",")
    return parts if all(part in FLAGS for part in parts) else []


def _made(rule: Rule, kind: NatKind, chain: Chain, title: str, notes: tuple[str, ...] = ()) -> NatRule:
    match = rule.match
    if not chain.hook:
        match = replace(match, conditions=(*match.conditions, f"in chain {chain.name}"))
    return NatRule(
        rule.name,
        kind,
        match,
        rule.lines,
        rule_set=title,
        enabled=rule.enabled,
        comment=rule.comment,
        hit_key=rule.hit_key,
        references=rule.references,
        notes=notes,
    )


def _split(text: str) -> tuple[str, str]:
    """`A`, `A:P`, `:P`, `[A6]:P`; a map or a set stays as it is written."""
    if text.startswith("[") and "]" in text:
        address, _, rest = text[1:].partition("]")
        return address, rest.removeprefix(":")
    if " " in text or text.count(":") != 1:
        return text, ""
    address, _, ports = text.partition(":")
    return address, ports
