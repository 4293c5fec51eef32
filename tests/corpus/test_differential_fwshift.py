"""fwshift (GPL, so only ever a process of its own: `make peers`) against our parsers on every configuration that it reads.

It flattens chains of iptables and pairs of interfaces of IOS into rules that nobody wrote, so those two are not compared.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from policyhub.domain.addresses import ANY, AddressSet, Interval, normalise
from policyhub.domain.rules import Policy, Rule
from policyhub.domain.services import ALL_PORTS, Service
from policyhub.vendorkit.registry import REGISTRY
from tests.corpus.peers import CORPUS, PROTOCOLS, Said, address, compared, differences, peer, rule_row, settle

pytestmark = [pytest.mark.corpus, pytest.mark.soak]
Document = dict[str, Any]
FORTIOS_NAME = re.compile(r'(?:^|; )name "([^"]*)"')
ACTIONS = {
    "allow": "permit",
    "deny": "deny",
    "drop": "deny",
    "reset-both": "deny",
    "reset-client": "deny",
    "reset-server": "deny",
}


class Platform(NamedTuple):
    """folder of the corpus, fwshift's and our names of the platform; `is_compared` says which policies of ours fwshift reads."""

    folder: str
    source: str
    name: str
    is_compared: Callable[[Policy], bool]
    at_least: int


def has_entries_of(kind: str) -> Callable[[Policy], bool]:
    """FortiOS: policies of the first vdom, which is the one that fwshift takes unless it is told."""
    return lambda policy: policy.name in (kind, f"root/{kind}")


def is_inbound(policy: Policy) -> bool:
    """ASA: lists of traffic through the box into an interface; fwshift merges outbound lists into them and leaves `icmp` out."""
    return policy.name[:5] != "icmp " and any(binding.direction == "in" for binding in policy.bindings)


def is_security(policy: Policy) -> bool:
    """PAN-OS: written rules; fwshift keeps the two default rules apart."""
    return policy.name.endswith("security") and "default-security" not in policy.name


PLATFORMS = [
    Platform("cisco_asa", "asa", "cisco_asa", is_inbound, 1500),
    Platform("fortinet_fortios", "fortios", "fortinet_fortios", has_entries_of("firewall policy"), 100),
    Platform("juniper_junos", "junos", "juniper_junos", lambda policy: "->" in policy.name or policy.name == "global", 150),
    Platform("paloalto_panos", "panos", "paloalto_panos", is_security, 500),
    Platform("checkpoint", "checkpoint", "checkpoint_gaia", lambda policy: policy.purpose == "filter", 5),
    Platform("azure", "azure", "azure", lambda policy: True, 50),
    Platform("aws", "aws", "aws", lambda policy: True, 50),
]


def read_by_fwshift(path: Path, source: str) -> Document | None:
    """Its model of a file as JSON; None when it refuses the file."""
    command = [peer("fwshift"), "convert", "--from", source, "--to", "json", "--quiet", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def addresses_of(names: list[str], document: Document, depth: int = 0) -> AddressSet | None:
    """Union of what the names stand for; None when one of them is not static."""
    found = AddressSet()
    for name in names:
        known, group = document["addresses"].get(name), document["address_groups"].get(name)
        if known is not None:
            part = AddressSet.of(known["value"]) if known["kind"] in ("network", "range") else None
        elif group is not None:
            is_static = depth < 20 and not group["dynamic_filter"] and not group["unsupported"]
            part = addresses_of(group["members"], document, depth + 1) if is_static else None
        else:
            part = literal(name)
        if part is None:
            return None
        found = found.union(part)
    return found


def literal(text: str) -> AddressSet | None:
    try:
        return ANY if text == "any" else AddressSet.of(text)
    except ValueError:
        return None


def side(rule: Document, which: str, document: Document) -> str | None:
    if rule[f"negate_{which}"]:
        return None
    known = addresses_of(rule[f"{which}s"], document)
    return None if known is None or known.is_empty else address(known)


Ports = tuple[tuple[int, tuple[Interval, ...]], ...]


def by_protocol(pairs: Iterator[tuple[int, tuple[Interval, ...]]]) -> Ports:
    found: dict[int, list[Interval]] = {}
    for number, intervals in pairs:
        found.setdefault(number, []).extend(intervals)
    return tuple((number, normalise(intervals)) for number, intervals in sorted(found.items()))


def services_of(rule: Document, document: Document) -> Ports | None:
    """TCP and UDP ports of a rule whose services are entries of nothing else."""
    if rule["negate_service"] or rule["applications"] not in (["any"], []):
        return None
    entries: list[Document] = []
    waiting = list(rule["services"])
    while waiting and len(waiting) < 1000:
        name = waiting.pop()
        if name in document["services"] and not document["services"][name]["unsupported"]:
            entries += document["services"][name]["entries"]
        elif name in document["service_groups"]:
            waiting += document["service_groups"][name]["members"]
        else:
            return None
    if not entries or any(entry["protocol"] not in ("tcp", "udp") or entry["src_ports"] for entry in entries):
        return None
    return by_protocol((PROTOCOLS[entry["protocol"]], spans(entry["dst_ports"])) for entry in entries)


def spans(text: str) -> tuple[Interval, ...]:
    pairs = [part.partition("-") for part in text.split(",") if part]
    return normalise((int(low), int(high or low)) for low, _, high in pairs) if pairs else ALL_PORTS


def our_services(services: tuple[Service, ...]) -> Ports | None:
    plain = all(s.source_ports == ALL_PORTS and s.protocols in (((6, 6),), ((17, 17),)) for s in services)
    return by_protocol((s.protocols[0][0], s.destination_ports) for s in services) if plain and services else None


class Places:
    """Items for names that come more than once: "name", "name #2" ..."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def item(self, name: str) -> str:
        self.seen[name] += 1
        return name if self.seen[name] == 1 else f"{name} #{self.seen[name]}"


def their_rules(document: Document, source: str) -> Said:
    """Without the rules that nobody wrote: security levels of the ASA, products of two Azure groups."""
    places = Places()
    said: Said = {}
    for rule in document["rules"]:
        name = their_name(rule, source)
        if name is not None:
            said[places.item(name)] = {
                "action": ACTIONS.get(rule["action"]),
                "enabled": rule["enabled"],
                "source": side(rule, "source", document),
                "destination": side(rule, "destination", document),
                "services": services_of(rule, document),
            }
    return said


def their_name(rule: Document, source: str) -> str | None:
    name: str = rule["name"]
    if source == "asa":
        return None if name.startswith("implicit") else " ".join(name.rsplit("-", 1))
    if source == "junos":
        zones = f"{'/'.join(rule['src_zones'])}->{'/'.join(rule['dst_zones'])}"
        return f"{'global' if zones == 'any->any' else zones} {name.split(' (')[0]}"
    if source == "azure":
        return None if "+" in name or " to " in name else name.rpartition(":")[2]
    return name


def our_name(policy: Policy, place: int, rule: Rule, source: str) -> str:
    if source == "asa":
        return f"{policy.name} {place}"
    if source == "junos":
        return f"{policy.name} {rule.name}"
    if source == "fortios":
        named = FORTIOS_NAME.search(rule.text)
        return named[1] if named else f"policy-{rule.name}"
    if source == "aws":
        group, _, direction = policy.name.rpartition(" ")
        return f"{group}-{'in' if direction == 'ingress' else 'out'}-{place}"
    return rule.name


def our_rules(platform: Platform, text: str) -> Said:
    places = Places()
    said: Said = {}
    names = group_names(text) if platform.source == "aws" else {}
    for policy in REGISTRY.get(platform.name).parse(text).policies:
        if not platform.is_compared(policy):
            continue
        for place, rule in enumerate(policy.rules, 1):
            name = our_name(policy, place, rule, platform.source)
            group = name.rsplit("-", 2)[0]
            said[places.item(name.replace(group, names.get(group, group), 1))] = our_row(rule)
    return said


def our_row(rule: Rule) -> dict[str, object]:
    row = {name: value for name, value in rule_row(rule).items() if name not in ("protocol", "ports")}
    return row | {"services": None if rule.match.unresolved else our_services(rule.match.services)}


def group_names(text: str) -> dict[str, str]:
    """GroupId -> GroupName of `describe-security-groups`."""
    return {group["GroupId"]: group["GroupName"] for group in json.loads(text)["SecurityGroups"]}


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.name)
def test_rules_are_those_that_fwshift_reads(platform: Platform) -> None:
    paths = sorted(path for path in (CORPUS / platform.folder).iterdir() if path.is_file())
    with ThreadPoolExecutor(2) as pool:
        documents = list(pool.map(lambda path: read_by_fwshift(path, platform.source), paths))
    found: dict[tuple[str, str, str], str] = {}
    looked_at = []
    values = 0
    for path, document in zip(paths, documents, strict=True):
        if document is None:
            continue
        name = f"{platform.folder}/{path.name}"
        looked_at.append(name)
        ours = our_rules(platform, path.read_bytes().decode("utf-8", errors="replace"))
        theirs = their_rules(document, platform.source)
        values += compared(ours, theirs)
        found.update({(name, item, field): said for (item, field), said in differences(ours, theirs).items()})
    settle("fwshift", found, looked_at)
    assert values >= platform.at_least, values
