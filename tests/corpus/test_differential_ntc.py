"""ntc-templates (TextFSM, of the lock; netmiko brings it) against our parsers on outputs of real devices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import ntc_templates
import pytest
from textfsm import TextFSM, TextFSMError

from policyhub.domain.addresses import AddressSet
from policyhub.vendorkit.registry import REGISTRY
from tests.corpus.peers import (
    CORPUS,
    Said,
    address,
    bare,
    compared,
    corpus_file,
    differences,
    masked,
    our_rules,
    protocol,
    settle,
)  # fmt: skip

pytestmark = pytest.mark.corpus
Row = dict[str, str]


def endpoint(row: Row, side: str) -> str | None:
    """Source or destination of a template that splits them; None for groups, objects and names."""
    if row.get(f"{side}_any"):
        return "any"
    if row.get(f"{side}_host"):
        return address(row[f"{side}_host"])
    if row.get(f"{side}_wildcard"):
        return masked(row[f"{side}_network"], row[f"{side}_wildcard"])
    if row.get(f"{side}_mask"):
        return address(f"{row[f'{side}_network']}/{row[f'{side}_mask']}")
    return None


def port(row: Row, prefix: str = "dst_port") -> object:
    """Destination ports in numbers, when there are any; names are not looked up."""
    low, high = row.get(f"{prefix}_range_start", ""), row.get(f"{prefix}_range_end", "")
    if low.isdigit() and high.isdigit():
        return ((int(low), int(high)),)
    value = row.get(prefix, "")
    return ((int(value), int(value)),) if value.isdigit() and row.get(f"{prefix}_match", "eq") == "eq" else None


def rules_of(rows: list[Row], name: str, number: str) -> list[tuple[str, Row]]:
    """Rows of rules as "LIST number", or "LIST place" where the template tells no number."""
    places: dict[str, int] = {}
    found = []
    for row in rows:
        if row["action"]:
            places[row[name]] = places.get(row[name], 0) + 1
            found.append((f"{row[name]} {row[number] if number else places[row[name]]}", row))
    return found


def ios_lists(rows: list[Row], number: str = "line_num") -> Said:
    return {
        item: {
            "action": row["action"],
            "source": endpoint(row, "src"),
            "destination": endpoint(row, "dst"),
            "protocol": protocol(row["protocol"]) if row["protocol"] else None,
            "ports": port(row) if row.get("dst_port_match") else None,
            "hits": int(row["matches"]) if row.get("matches") else None,
        }
        for item, row in rules_of(rows, "acl_name", number)
    }


def ios_lists_by_place(rows: list[Row]) -> Said:
    return ios_lists(rows, number="")


def ios_short_lists(rows: list[Row]) -> Said:
    def side(text: str) -> str | None:
        first, _, wild = text.partition(", wildcard bits ")
        return "any" if first == "any" else masked(first, wild or "0.0.0.0")

    return {
        item: {"action": row["action"], "source": side(row["source"]), "hits": int(row["matches"]) if row["matches"] else None}
        for item, row in rules_of(rows, "name", "sn")
    }


def asa_lists(rows: list[Row]) -> Said:
    """Rules as written; the elements that the ASA expands them to are rows of their own (entry_*)."""
    written = [row for row in rows if row["line_num"] and row["hit_count"] != ""]
    return {
        item: {
            "action": row["action"],
            "enabled": row["state"] != "inactive",
            "source": endpoint(row, "src"),
            "destination": endpoint(row, "dst"),
            "protocol": protocol(row["protocol"]) if row["protocol"] else None,
            "ports": port(row),
            "hits": int(row["hit_count"]),
        }
        for item, row in rules_of(written, "acl_name", "line_num")
    }


def vrp_endpoint(text: str) -> str | None:
    first, wild = text.split() if text else ("0.0.0.0", "255.255.255.255")
    return masked(first, "0.0.0.0" if wild == "0" else wild)


def vrp_lists(rows: list[Row]) -> Said:
    named = [row | {"list": row["acl_name"] or row["acl_number"]} for row in rows]
    return {
        item: {
            "action": row["action"],
            "source": vrp_endpoint(row["source"]),
            "destination": vrp_endpoint(row["destination"]),
            "protocol": protocol(row["protocol"]) if row["protocol"] else None,
            "hits": int(row["matches"]) if row["matches"] else None,
        }
        for item, row in rules_of(named, "list", "sn")
    }


def words_of(text: str) -> str | None:
    """Source or destination in the device's words; None for groups and MAC addresses."""
    words = text.split()
    is_address = bool(words) and words[0] in ("host", words[-1]) and ("/" in text or ":" in text or text.count(".") == 3)
    return "any" if text == "any" else address(words[-1]) if is_address else None


def ipv6_lists(rows: list[Row]) -> Said:
    return {
        item: {
            "action": row["action"],
            "source": words_of(row["ipv6_source"]),
            "destination": words_of(row["ipv6_destination"]),
            "protocol": 58 if row["protocol"] == "icmp" else protocol(row["protocol"]),  # in an IPv6 list, ICMP is ICMPv6
        }
        for item, row in rules_of(rows, "acl_name", "sequence")
    }


def shown_lists(rows: list[Row]) -> Said:
    """Templates that keep source and destination in the device's words (EOS, NX-OS)."""
    return {
        item: {
            "action": row["action"],
            "source": words_of(row["source"]),
            "destination": words_of(row["destination"]),
            "protocol": protocol(row["protocol"]),
        }
        for item, row in rules_of(rows, "name", "sn")
    }


def panos_policy(rows: list[Row]) -> Said:
    def several(text: str) -> str | None:
        words = text.strip("[] ").split()
        return "any" if words == ["any"] else address(AddressSet.of(*words))

    named = [row | {"list": f"{'default-' if row['type'] else ''}security"} for row in rows]
    return {
        item: {
            "action": {"allow": "permit", "deny": "deny"}.get(row["action"]),
            "source": several(row["source"]),
            "destination": several(row["destination"]),
        }
        for item, row in rules_of(named, "list", "")
    }


def object_row(row: Row) -> dict[str, object]:
    if row["type"] == "host":
        return {"addresses": address(row["host"])}
    if row["type"] == "range":
        return {"addresses": address(f"{row['start_ip']}-{row['end_ip']}")}
    length = row["netmask"] or row["prefix_length"]
    return {"addresses": address(f"{row['network']}/{length.strip('/')}") if row["type"] == "subnet" else None}


def network_objects(rows: list[Row]) -> Said:
    return {f"object {row['name']}": object_row(row) for row in rows if row["type"]}


class Command(NamedTuple):
    """A template, how its rows are read, and which of our rules they are held against (`family` 0: all)."""

    platform: str
    name: str
    reading: Callable[[list[Row]], Said]
    by_place: bool = False
    family: int = 0


ASA = Command("cisco_asa", "show access-list", asa_lists)
IOS = Command("cisco_ios", "show ip access-lists", ios_lists)
IOS_SHORT = Command("cisco_ios", "show access-list", ios_short_lists)
IOS_IPV6 = Command("cisco_ios", "show ipv6 access-lists", ipv6_lists, family=6)
IOS_RUNNING = Command("cisco_ios", "show running-config partition access-list", ios_lists_by_place, by_place=True)
ASA_NETWORKS = Command("cisco_asa", "show running-config object network", network_objects)
NXOS = Command("cisco_nxos", "show access-lists", shown_lists)
VRP = Command("huawei_vrp", "display acl all", vrp_lists)
PANOS = Command("paloalto_panos", "show running security-policy", panos_policy, by_place=True)
GENIE = "genieparser__Show{}__cli__equal__golden_{}output.txt"
CASES = {
    "cisco_asa/ntc__cisco_asa_show_access-list.raw": ASA,
    "cisco_asa/ntc__cisco_asa_show_access-list_4.raw": ASA,
    "cisco_asa/ntc__cisco_asa_show_access-list_update2.raw": ASA,
    "cisco_ios/ntc__cisco_ios_show_ip_access-lists_954.raw": IOS,
    "cisco_ios/ntc__cisco_ios_show_ip_access-lists_964.raw": IOS,
    "cisco_ios/ntc__cisco_ios_show_ip_access-lists_1104.raw": IOS,
    f"cisco_ios/{GENIE.format('IpAccessLists', 'ip_access_list_output_')}": IOS,
    f"cisco_ios/{GENIE.format('IpAccessLists', 'ip_access_list_output_2_')}": IOS,
    f"cisco_ios/{GENIE.format('IpAccessLists', 'ip_access_list_output_3_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_2_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_3_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_4_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_customer1_')}": IOS,
    f"cisco_ios/{GENIE.format('AccessLists', 'output_ios_')}": IOS,
    "cisco_ios/ntc__cisco_ios_show_access-list2.raw": IOS_SHORT,
    f"cisco_ios/{GENIE.format('Ipv6AccessLists', 'output_1_')}": IOS_IPV6,
    "cisco_ios/ntc__cisco_ios_show_ipv6_access-lists.raw": IOS_IPV6,
    "cisco_ios/ntc__cisco_ios_show_running-config_partition_access-list_fixed.raw": IOS_RUNNING,
    "cisco_ios/ntc__cisco_ios_show_running-config_partition_access-list_new.raw": IOS_RUNNING,
    f"cisco_nxos/{GENIE.format('AccessLists', 'output1_')}": NXOS,
    f"cisco_nxos/{GENIE.format('AccessLists', 'output2_')}": NXOS,
    "huawei_vrp/ntc__huawei_vrp_display_acl_all_1.raw": VRP,
    "paloalto_panos/ntc__paloalto_panos_show_running_security-policy.raw": PANOS,
}


@cache
def template(name: str) -> TextFSM:
    """Loaded once: `ntc_templates.parse.parse_output` reads the index of all templates for each text."""
    with (Path(ntc_templates.__file__).parent / "templates" / f"{name}.textfsm").open(encoding="utf-8") as file:
        return TextFSM(file)


def rows_of(command: Command, text: str) -> list[Row]:
    """Raises TextFSMError when the template has no line for something in the text."""
    machine = template(f"{command.platform}_{command.name.replace(' ', '_')}")
    machine.Reset()
    return [{key.lower(): value for key, value in row.items()} for row in machine.ParseTextToDicts(text)]


def test_rules_and_hits_of_shown_lists() -> None:
    found: dict[tuple[str, str, str], str] = {}
    values = 0
    for name, command in CASES.items():
        text = corpus_file(name)
        ours = our_rules(REGISTRY.get(command.platform), text, command.by_place, command.family)
        try:
            theirs = command.reading(rows_of(command, bare(text)))
        except TextFSMError as error:
            found[name, "-", "refused"] = str(error)[-150:]
            continue
        values += compared(ours, theirs)
        found.update({(name, item, field): said for (item, field), said in differences(ours, theirs).items()})
    settle("ntc-templates", found, CASES)
    assert values > 2000, values


IOS_BLOCK = re.compile(r"^ip access-list (?:standard|extended) (\S+)[ \t]*\r?\n((?:(?:[ \t]+\S.*|[ \t]*)\n)+)", re.MULTILINE)
ASA_OBJECT = re.compile(r"^object network (\S+)[ \t]*\r?\n((?: +(?!nat )\S.*\n)+)", re.MULTILINE)


def blocks(folder: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str, list[re.Match[str]]]]:
    """(file, text, blocks) of the configurations that have such blocks, each name once."""
    for path in sorted((CORPUS / folder).iterdir()):
        text = path.read_bytes().decode("utf-8", errors="replace")
        found = list(pattern.finditer(text))
        names = Counter(block[1] for block in found)
        if found:
            yield f"{folder}/{path.name}", text, [block for block in found if names[block[1]] == 1]


def test_lists_of_running_configurations() -> None:
    """Each `ip access-list` block of IOS by itself; blocks that the template refuses are not compared."""
    found: dict[tuple[str, str, str], str] = {}
    values, files = 0, []
    for name, text, known in blocks("cisco_ios", IOS_BLOCK):
        files.append(name)
        all_ours = our_rules(REGISTRY.get("cisco_ios"), text, by_place=True)
        for block in known:
            try:
                theirs = IOS_RUNNING.reading(rows_of(IOS_RUNNING, block[0].replace("\r", "")))
            except TextFSMError:
                continue
            ours = {item: row for item, row in all_ours.items() if item.rpartition(" ")[0] == block[1]}
            values += compared(ours, theirs)
            found.update({(name, item, field): said for (item, field), said in differences(ours, theirs).items()})
    settle("ntc-templates", found, [name for name in files if name not in CASES])
    assert values > 1000, values


def test_network_objects_of_running_configurations() -> None:
    """Each `object network` block of the ASA, without those that only translate."""
    found: dict[tuple[str, str, str], str] = {}
    values, files = 0, []
    for name, text, known in blocks("cisco_asa", ASA_OBJECT):
        files.append(name)
        objects = {one.name: one.addresses for one in REGISTRY.get("cisco_asa").parse(text).addresses}
        for block in known:
            try:
                theirs = ASA_NETWORKS.reading(rows_of(ASA_NETWORKS, block[0].replace("\r", "")))
            except TextFSMError:
                continue
            ours: Said = {f"object {block[1]}": {"addresses": address(objects[block[1]])}} if block[1] in objects else {}
            values += compared(ours, theirs)
            found.update({(name, item, field): said for (item, field), said in differences(ours, theirs).items()})
    settle("ntc-templates", found, [name for name in files if name not in CASES])
    assert values > 50, values
