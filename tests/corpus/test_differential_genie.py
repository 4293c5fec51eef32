"""genie.libs.parser (in an environment of its own: `make peers`) against our parsers on shown lists, filters and queues."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from policyhub.vendorkit.registry import REGISTRY
from tests.corpus.peers import Said, address, bare, compared, corpus_file, differences, masked, our_rules, peer, protocol, settle

pytestmark = [pytest.mark.corpus, pytest.mark.soak]
Tree = dict[str, Any]
ACTIONS = {"permit": "permit", "deny": "deny"}


def only(tree: Tree) -> Any:
    """The one value of a tree of one branch."""
    return next(iter(tree.values()), None)


def endpoint(text: str | None) -> str | None:
    """Source or destination as genie keeps it: the device's words."""
    words = (text or "").split()
    if words == ["any"]:
        return "any"
    if len(words) == 2 and words[0] == "host":
        return literal(words[1])
    if len(words) == 2 and words[0].count(".") == words[1].count(".") == 3:
        return masked(words[0], words[1])
    return literal(words[0]) if len(words) == 1 else None


def literal(text: str) -> str | None:
    try:
        return address(text)
    except ValueError:
        return None


def ports_of(layer4: Tree) -> object:
    """Destination ports in numbers; names are not looked up."""
    port = (only(layer4) or {}).get("destination_port", {})
    if "range" in port:
        low, high = str(port["range"]["lower_port"]), str(port["range"]["upper_port"])
        return ((int(low), int(high)),) if low.isdigit() and high.isdigit() else None
    operator = port.get("operator", {})
    value = str(operator.get("port", ""))
    return ((int(value), int(value)),) if operator.get("operator") == "eq" and value.isdigit() else None


def entry_row(entry: Tree) -> dict[str, object]:
    layer3 = only(entry.get("matches", {}).get("l3", {})) or {}
    sides = {key.split("_")[0]: only(only(value)) for key, value in layer3.items() if isinstance(value, dict)}
    statistics = entry.get("statistics", {}).get("matched_packets")
    return {
        "action": ACTIONS.get(entry["actions"]["forwarding"]),
        "source": endpoint(sides.get("source")),
        "destination": endpoint(sides.get("destination")),
        "protocol": protocol(layer3.get("protocol")) if layer3.get("protocol") else None,
        "ports": ports_of(entry.get("matches", {}).get("l4", {})),
        "hits": None if statistics is None else int(statistics),
    }


def lists(tree: Tree) -> Said:
    said: Said = {}
    for name, known in tree.items():
        for number, entry in known.get("aces", {}).items():
            row = entry_row(entry)
            if known["type"].startswith("ipv6") and row["protocol"] == 1:
                row["protocol"] = 58  # `icmp` of an IPv6 list
            said[f"{name} {number}"] = row
    return said


def our_lists(platform: str, text: str) -> Said:
    return our_rules(REGISTRY.get(platform), text, by_place=False)


def filters(tree: Tree) -> Said:
    """Junos: named counters of filters."""
    known = tree["firewall-information"]["filter-information"]
    return {
        f"{one['filter-name']} {counter['counter-name']}": {
            "packets": int(counter["packet-count"]),
            "bytes": int(counter["byte-count"]),
        }
        for one in known
        for counter in one.get("counter", [])
    }


def our_filters(platform: str, text: str) -> Said:
    sample = REGISTRY.get(platform).counters(text, None)
    assert sample is not None
    return {
        f"{hit.policy} {hit.key.removeprefix(hit.policy).strip()}": {"packets": hit.hits, "bytes": hit.bytes}
        for hit in sample.hits
    }


def queues(tree: Tree) -> Said:
    """IOS XR: packets and bytes that each class matched, sent and dropped, and what its queue and policer dropped."""
    said: Said = {}
    for direction, known in only(tree["interface"])["service_policy"].items():
        for policy, classes in known.get("policy_name", {}).items():
            for name, kinds in classes["class"].items():
                said[f"{policy} {direction} {name}"] = counted(kinds)
    return said


def counted(kinds: Tree) -> dict[str, object]:
    titles = {
        ("classification_statistics", "matched"): "Matched",
        ("classification_statistics", "transmitted"): "Transmitted",
        ("classification_statistics", "total_dropped"): "Total Dropped",
        ("queueing_statistics", "taildropped"): "Taildropped",
        ("policing_statistics", "policed_exceed"): "Policed(exceed)",
        ("policing_statistics", "policed_violate"): "Policed(violate)",
        ("policing_statistics", "policed_and_dropped"): "Policed and dropped",
    }
    found: dict[str, object] = {}
    for (kind, key), title in titles.items():
        value = kinds.get(kind, {}).get(key)
        pair = value["packets/bytes"] if isinstance(value, dict) else value
        if pair and pair != "N/A":
            packets, octets = pair.split("/")
            found |= {f"{title} packets": float(packets), f"{title} bytes": float(octets)}
    return found


def our_queues(platform: str, text: str) -> Said:
    series = REGISTRY.get(platform).series
    assert series is not None
    said: Said = {}
    for one in series(text, None).rows:
        said.setdefault(one.queue, {})[f"{one.name} {one.unit}"] = one.value
    return said


class Parser(NamedTuple):
    """A parser of genie and how both sides are put in rows."""

    module: str
    name: str
    platform: str
    theirs: Callable[[Tree], Said] = lists
    ours: Callable[[str, str], Said] = our_lists
    arguments: Mapping[str, str] = {}


IOS = Parser("iosxe.show_acl", "ShowAccessLists", "cisco_ios")
NXOS = Parser("nxos.show_acl", "ShowAccessLists", "cisco_nxos")
XR = Parser("iosxr.show_acl", "ShowAclAfiAll", "cisco_iosxr")
JUNOS = Parser("junos.show_firewall", "ShowFirewall", "juniper_junos", filters, our_filters)
XR_QUEUES = Parser("iosxr.show_policy_map", "ShowPolicyMapInterface", "cisco_iosxr", queues, our_queues, {"interface": ""})
GENIE = "genieparser__Show{}__cli__equal__golden_{}output.txt"
CASES = {
    f"cisco_ios/{GENIE.format('AccessLists', 'output_2_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_3_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_4_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_customer1_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_ios_')}": IOS,
    f"cisco_ios/{GENIE.format('IpAccessLists', 'ip_access_list_output_')}": IOS,
    f"cisco_ios/{GENIE.format('IpAccessLists', 'ip_access_list_output_2_')}": IOS,
    f"cisco_ios/{GENIE.format('IpAccessLists', 'ip_access_list_output_3_')}": IOS,
    f"cisco_ios/{GENIE.format('Ipv6AccessLists', 'output_1_')}": IOS,
    "cisco_ios/ntc__cisco_ios_show_ip_access-lists_954.raw": IOS,
    "cisco_ios/ntc__cisco_ios_show_ip_access-lists_964.raw": IOS,
    "cisco_ios/ntc__cisco_ios_show_ip_access-lists_1104.raw": IOS,
    "cisco_ios/ntc__cisco_ios_show_ipv6_access-lists.raw": IOS,
    f"cisco_nxos/{GENIE.format('AccessLists', 'output1_')}": NXOS,
    f"cisco_nxos/{GENIE.format('AccessLists', 'output2_')}": NXOS,
    f"cisco_iosxr/{GENIE.format('AclAfiAll', 'output1_')}": XR,
    f"juniper_junos/{GENIE.format('Firewall', 'output_2_')}": JUNOS,
    f"cisco_iosxr/{GENIE.format('PolicyMapInterface', 'output_2_')}": XR_QUEUES,
    f"cisco_iosxr/{GENIE.format('PolicyMapInterface', 'output_3_')}": XR_QUEUES,
    f"cisco_iosxr/{GENIE.format('PolicyMapInterface', 'output_5_')}": XR_QUEUES,
    f"cisco_iosxr/{GENIE.format('PolicyMapInterface', 'output_6_')}": XR_QUEUES,
}


@pytest.fixture(scope="module")
def answers() -> dict[str, Tree]:
    """genie's answer by file; one process for all."""
    wishes = [
        {"module": parser.module, "class": parser.name, "text": bare(corpus_file(name)), "arguments": parser.arguments}
        for name, parser in CASES.items()
    ]
    command = [peer("python", "genie"), str(Path(__file__).with_name("genie_reader.py"))]
    done = subprocess.run(
        command,
        input="".join(f"{json.dumps(wish)}\n" for wish in wishes),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=True))


def test_genie_reads_the_same(answers: dict[str, Tree]) -> None:
    found: dict[tuple[str, str, str], str] = {}
    values = 0
    for name, parser in CASES.items():
        if "refused" in answers[name]:
            found[name, "-", "refused"] = answers[name]["refused"]
            continue
        ours, theirs = parser.ours(parser.platform, corpus_file(name)), parser.theirs(answers[name])
        values += compared(ours, theirs)
        found.update({(name, item, field): said for (item, field), said in differences(ours, theirs).items()})
    settle("genie", found, CASES)
    assert values > 500, values
