"""Rule lists that decide no forwarding: policy routing, authentication, decryption, audit; their rules count and go on."""

from __future__ import annotations

from dataclasses import replace

from policyhub.domain.rules import Action, Binding, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendors.huawei_usg.reading import Reading, Vsys
from policyhub.vendors.huawei_usg.security import Draft, rule_name

PURPOSES = {
    "policy-based-route": "route",
    "auth-policy": "authentication",
    "decryption-policy": "decryption",
    "proxy-policy": "decryption",
    "audit-policy": "audit",
    "quota-policy": "quota",
    "dns-transparent-policy": "dns",
}


def read(reading: Reading, vsys: Vsys, block: Block) -> Policy:
    """One such list. What a rule does is its comment when it has none."""
    name = block.words[0].lower()
    made: list[Rule] = []
    lines = [block.number]
    for child in block.children:
        try:
            word = child.words[0].lower()
            if word == "rule":
                made.append(_rule(reading, vsys, child))
            elif word in ("default", "dns", "description", "group", "mode"):
                lines.append(child.number)
            else:
                continue
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    binding = (Binding("", "forward", (block.number,)),)
    return Policy(vsys.prefix + name, tuple(made), None, 0, binding, tuple(lines), purpose=PURPOSES[name], context=vsys.name)


def _rule(reading: Reading, vsys: Vsys, block: Block) -> Rule:
    """`rule name R [ID]`."""
    name = rule_name(block)
    head, _, last = name.rpartition(" ")
    name = head if head and last.isascii() and last.isdigit() else name
    draft = Draft(vsys)
    does: list[str] = []
    for child in block.below():
        with reading.ledger.booking(child.line):
            if child.words[0].lower() in ("action", "track", "dns-server", "quota-profile"):
                does.append(" ".join(child.words))
            elif not draft.take(child):
                raise NotUnderstood(f"{child.words[0][:40]!r} is not understood in a rule")
    made = draft.rule(name, Action.CONTINUE, block)
    return replace(made, comment=draft.comment or "; ".join(does), hit_key="")
