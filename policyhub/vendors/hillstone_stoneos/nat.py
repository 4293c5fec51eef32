"""`snatrule`, `dnatrule`, `bnatrule` of a virtual router."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendorkit.operands import Services
from policyhub.vendors.hillstone_stoneos.reading import Operand, Reading, Scope, union
from policyhub.vendors.hillstone_stoneos.tree import Node

KINDS = ("dnatrule", "bnatrule", "snatrule")  # in this order packets meet them
FLAGS = ("load-balance", "redirect", "sticky")
SKIPPED = {
    "group": 1,
    "track": 1,
    "track-tcp": 1,
    "track-udp": 1,
    "track-ping": 0,
    "log": 0,
    "round-robin": 0,
    "before": 1,
    "after": 1,
    "top": 0,
}
PLACES = ("ingress-interface", "eif", "evr")
MODES = {"static": NatKind.STATIC, "dynamicip": NatKind.SOURCE, "dynamicport": NatKind.SOURCE}


@dataclass(slots=True)
class Draft:
    """A translation while its words are read."""

    identifier: str
    kind: NatKind
    sides: dict[str, list[Operand]] = field(default_factory=lambda: {"from": [], "to": []})
    zones: dict[str, list[str]] = field(default_factory=lambda: {"from": [], "to": []})
    services: Services = (ANY_SERVICE,)
    service_name: str = ""
    unknown: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    target: str = ""
    target_name: str = ""
    port: str = ""
    notes: list[str] = field(default_factory=list)
    enabled: bool = True
    comment: str = ""


def read_nat(reading: Reading, vrouters: list[Node]) -> None:
    """vrouters: `ip vrouter X` blocks. Order of the result: per kind, in the order of the text."""
    for kind in KINDS:
        for block in vrouters:
            router = block.words[2] if len(block.words) > 2 else ""
            for node in block.children:
                if node.text.startswith(kind):
                    _rule(reading, reading.scope(block.context), router, kind, node)


def _rule(reading: Reading, scope: Scope, router: str, kind: str, node: Node) -> None:
    words = Words(node.words, 1)
    draft = Draft(f"line {node.number}", NatKind.SOURCE if kind == "snatrule" else NatKind.DESTINATION)
    if kind == "bnatrule":
        draft.kind = NatKind.STATIC
    try:
        while words:
            _word(scope, draft, words)
        reading.ledger.understood(*node.all_numbers())
    except NotUnderstood as reason:
        reading.ledger.unparsed(node.line, str(reason))
        draft.conditions.append(node.text)
    sides = [union(draft.sides[side]) for side in ("from", "to")]
    unresolved = [name for side in ("from", "to") for operand in draft.sides[side] for name in operand.unresolved]
    match = Match(
        sides[0],
        sides[1],
        draft.services,
        tuple(draft.zones["from"]),
        tuple(draft.zones["to"]),
        conditions=tuple(draft.conditions),
        unresolved=tuple(dict.fromkeys((*unresolved, *draft.unknown))),
    )
    names = [operand.name for side in ("from", "to") for operand in draft.sides[side] if operand.name]
    name = f"{kind} {draft.identifier}"
    is_source = kind == "snatrule"
    reading.nat_rules.append(
        NatRule(
            name=name,
            kind=draft.kind,
            match=match,
            lines=node.all_numbers(),
            translated_source=draft.target if is_source else "",
            translated_destination="" if is_source else draft.target,
            translated_service=draft.port,
            rule_set=f"{scope.prefix}{router} {kind}",
            context=scope.name,
            enabled=draft.enabled,
            comment=draft.comment,
            hit_key=name,
            references=tuple(dict.fromkeys(n for n in (*names, draft.service_name, draft.target_name) if n)),
            notes=tuple(flag for flag in FLAGS if flag in draft.notes),
        )
    )


def _word(scope: Scope, draft: Draft, words: Words) -> None:
    """The next setting of a translation. Raises NotUnderstood."""
    word = words.next()
    if word == "id":
        draft.identifier = words.next("an id")
    elif word in ("from", "to"):
        draft.sides[word].append(scope.operand(words))
    elif word in ("from-zone", "to-zone"):
        draft.zones[word.removesuffix("-zone")].append(words.next("a zone"))
    elif word == "service":
        draft.services, unknown, draft.service_name = scope.service(words.next("a service"))
        draft.unknown += unknown
    elif word in PLACES:
        draft.conditions.append(f"{word} {words.next('a name')}")
    elif word in ("trans-to", "slb-server-pool", "real"):
        _target(scope, draft, words)
    elif word == "virtual":
        draft.sides["to"].append(scope.operand(words))
    elif word == "no-trans":
        draft.kind = NatKind.EXEMPT
    elif word == "mode":
        draft.kind = MODES.get(words.next("a mode"), NatKind.SOURCE)
    elif word == "port":
        draft.port = words.next("a port")
    else:
        _flag(draft, word, words)


def _flag(draft: Draft, word: str, words: Words) -> None:
    """What changes nothing about the match and the target. Raises NotUnderstood."""
    if word == "disable":
        draft.enabled = False
    elif word == "description":
        draft.comment = words.next("a text")
    elif word in FLAGS:
        draft.notes.append(word)
    elif word in SKIPPED:
        for _ in range(SKIPPED[word]):
            words.next("a value")
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")


def _target(scope: Scope, draft: Draft, words: Words) -> None:
    """What addresses become: a name, a literal, or `eif-ip`."""
    if words.accept("eif-ip"):
        draft.target = "interface"
        return
    start = words.at + (1 if words.peek() in ("address-book", "addressbook", "ip") else 0)
    operand = scope.operand(words)
    draft.target = " ".join(words.words[start : words.at])
    draft.target_name = operand.name
