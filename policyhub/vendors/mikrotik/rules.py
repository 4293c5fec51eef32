"""Chains of filter, raw and mangle, and NAT."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet, Interval, complement
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ALL_PORTS, ICMP, ICMPV6, MAX_PROTOCOL, Service
from policyhub.vendorkit.json_books import address
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal, number_in
from policyhub.vendorkit.operands import NameTable, Services, address_table, alone, compact
from policyhub.vendorkit.port_lists import NAMES, port_list, service_of
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendors.mikrotik.commands import Command

ACTIONS = {"accept": Action.PERMIT, "": Action.PERMIT, "drop": Action.DENY, "reject": Action.DENY, "tarpit": Action.DENY}
CHAINS = {"input": "local", "forward": "forward", "output": "out", "prerouting": "in", "postrouting": "out"}
WHOLE = {"ip": ANY4, "ipv6": ANY6}
NUMBERS = {"ip": 4, "ipv6": 6}
RETURN = "return"
NO_MATCH = {
    "action", "chain", "comment", "disabled", "log", "log-prefix", "jump-target", "reject-with", "to-addresses",
    "to-ports", "to-address",
    "address-list", "address-list-timeout", "new-packet-mark", "new-connection-mark", "new-routing-mark", "new-mss", "new-dscp",
    "new-priority", "new-ttl", "new-hop-limit", "passthrough", "hw-offload", "place-before",
    "sniff-target", "sniff-target-port", "sniff-id",
    "route-dst", "same-not-by-dst", "randomise-ports", "randomize-ports", "socks5-server", "socks5-port",
}  # fmt: skip
READ = {
    "src-address", "dst-address", "src-address-list", "dst-address-list", "protocol", "src-port", "dst-port", "port",
    "icmp-options",
    "in-interface", "out-interface", "in-interface-list", "out-interface-list", "dscp",
}  # fmt: skip
KINDS = {"masquerade": NatKind.SOURCE, "src-nat": NatKind.SOURCE, "same": NatKind.SOURCE, "dst-nat": NatKind.DESTINATION,
         "redirect": NatKind.DESTINATION, "netmap": NatKind.STATIC, "accept": NatKind.EXEMPT, "": NatKind.EXEMPT}  # fmt: skip


@dataclass(slots=True)
class Names:
    """Lists of the text: addresses by `ip/NAME`, interfaces by name."""

    protocols: dict[str, int]
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    interfaces: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Draft:
    unresolved: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)


def read_match(names: Names, family: str, command: Command) -> tuple[Match, tuple[str, ...]]:
    """Raises NotUnderstood."""
    draft = _Draft()
    whole = WHOLE[family]
    source, destination = (_side(names, family, command, side, draft).intersection(whole) for side in ("src", "dst"))
    services = _services(names, command)
    zones = [_zones(names, command, side, draft) for side in ("in", "out")]
    dscp = frozenset((number_in(command.word("dscp"), 0, 63, "a DSCP"),)) if is_decimal(command.word("dscp")) else None
    draft.conditions += [f"dscp={command.word('dscp')}"] if command.word("dscp") and dscp is None else []
    draft.conditions += [
        f"{key}={value}" if value else key for key, value in command.attributes.items() if key not in NO_MATCH and key not in READ
    ]
    unresolved = tuple(dict.fromkeys(draft.unresolved))
    match = Match(source, destination, services, zones[0], zones[1], dscp, tuple(draft.conditions), unresolved)
    return match, tuple(dict.fromkeys(draft.references))


def _side(names: Names, family: str, command: Command, side: str, draft: _Draft) -> AddressSet:
    value = ANY
    text = command.word(f"{side}-address")
    if text:
        found = address(text.removeprefix("!"))
        if found is None:
            raise NotUnderstood(f"{text[:40]!r} is not an address")
        value = ANY.minus(found) if text.startswith("!") else found
    name = command.word(f"{side}-address-list")
    if name:
        plain = name.removeprefix("!")
        draft.references.append(plain)
        key = f"{family}/{plain}"
        resolved = names.addresses.resolve(key)
        draft.unresolved += [plain if part == key else part for part in resolved.unresolved]
        if not resolved.unresolved:
            value = value.minus(resolved.value) if name.startswith("!") else value.intersection(resolved.value)
        else:
            value = ANY
    return value


def _zones(names: Names, command: Command, side: str, draft: _Draft) -> tuple[str, ...]:
    plain, listed = command.word(f"{side}-interface"), command.word(f"{side}-interface-list")
    if listed in names.interfaces and not plain:
        return tuple(names.interfaces[listed])
    if listed:
        draft.conditions.append(f"{side}-interface-list={listed}")
    if plain.startswith("!") or plain.startswith("all-"):
        draft.conditions.append(f"{side}-interface={plain}")
        return ()
    return (plain,) if plain else ()


def _services(names: Names, command: Command) -> Services:
    """Raises NotUnderstood."""
    text = command.word("protocol")
    plain = text.removeprefix("!").lower()
    number = names.protocols[plain] if plain in names.protocols else NAMES.protocol(plain) if plain else None
    protocols: tuple[Interval, ...] | None = None if number is None else ((number, number),)
    if text.startswith("!") and protocols is not None:
        protocols = complement(protocols, MAX_PROTOCOL)
    kind = command.word("icmp-options")
    if kind and number in (ICMP, ICMPV6) and not kind.startswith("!"):
        return (_icmp(kind, number),)
    source, destination = (port_list(t, number) if (t := command.word(f"{side}-port")) else ALL_PORTS for side in ("src", "dst"))
    if command.word("port"):
        either = port_list(command.word("port"), number)
        return compact((service_of(protocols, either, destination), service_of(protocols, source, either)))
    return alone(service_of(protocols, source, destination))


def _icmp(text: str, protocol: int) -> Service:
    """`8:0`, `3:0-255`."""
    kind, _, code = text.partition(":")
    number = number_in(kind, 0, 255, "an ICMP type")
    one = None if code in ("", "0-255") else number_in(code, 0, 255, "an ICMP code")
    return icmp_service(number, one, protocol)


@dataclass(slots=True)
class Chain:
    """Rules of one chain of a table."""

    family: str
    table: str
    name: str
    rules: list[Rule] = field(default_factory=list)

    def policy(self) -> Policy:
        bound = CHAINS.get(self.name)
        default = Action.PERMIT if bound else None
        bindings = (Binding("", bound),) if bound else ()
        title = f"{self.family} {self.table} {self.name}"
        return Policy(title, tuple(self.rules), default, NUMBERS[self.family], bindings)

    def add(self, names: Names, command: Command) -> None:
        """Raises NotUnderstood."""
        match, references = read_match(names, self.family, command)
        word = command.word("action")
        target = (
            f"{self.family} {self.table} {command.word('jump-target')}" if word == "jump" else RETURN if word == RETURN else ""
        )
        rule = Rule(
            f"rule {len(self.rules) + 1}", ACTIONS.get(word, Action.CONTINUE), match, command.numbers, command.text[:400],
            not command.is_set("disabled"), command.is_set("log") or word == "log", command.word("comment"),
            references=references, target=target, returns=word != RETURN,
        )  # fmt: skip
        self.rules.append(rule)


def nat_rule(names: Names, family: str, number: int, command: Command) -> NatRule:
    """Raises NotUnderstood."""
    chain, action = command.word("chain"), command.word("action")
    if chain not in ("srcnat", "dstnat") or action not in KINDS:
        raise NotUnderstood(f"chain {chain[:40]}, action {action[:40]}: no translation that is known here")
    match, references = read_match(names, family, command)
    address_text = command.word("to-addresses") or command.word("to-address")
    if action in ("masquerade", "redirect"):
        address_text = address_text or "interface"
    is_source = chain == "srcnat"
    return NatRule(
        f"{chain} {number}", KINDS[action], match, command.numbers, translated_source=address_text if is_source else "",
        translated_destination="" if is_source else address_text, translated_service=command.word("to-ports"),
        rule_set=f"{family} {chain}", enabled=not command.is_set("disabled"), comment=command.word("comment"),
        references=references,
    )  # fmt: skip
