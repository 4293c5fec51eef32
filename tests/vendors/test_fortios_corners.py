"""FortiOS: the smallest texts that decide a field: ports, marks, sides of rules and routes, translations, objects, scripts."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from policyhub.domain.rules import Action, Match, Rule
from policyhub.vendorkit.registry import REGISTRY
from policyhub.vendors.fortinet_fortios.tree import split
from tests.vendors.corners import reasons, whole
from tests.vendors.model_json import readable

VENDOR = REGISTRY.get("fortinet_fortios")
parse = partial(whole, VENDOR)
odd = partial(reasons, VENDOR)


def table(path: str, **entries: str) -> str:
    """entries: settings, one per line; a name that begins with n is a number (`n1`)."""
    rows = "".join(
        f"edit {name[1:] if name[1:].isdigit() else name}\n"
        + "".join(f"set {line}\n" for line in lines.split("\n") if line)
        + "next\n"
        for name, lines in entries.items()
    )
    return f"config {path}\n{rows}end\n"


SIDES = "srcintf any\ndstintf any\nsrcaddr all\ndstaddr all\nschedule always\n"


def rule(*lines: str, before: str = "", path: str = "firewall policy") -> Rule:
    config = parse(before + table(path, n1=SIDES + "\n".join(("service ALL", *lines))))
    return config.policies[0].rules[0]


def routed(*lines: str, path: str = "router policy", before: str = "") -> Match:
    return parse(before + table(path, n1="\n".join(lines))).policies[0].rules[0].match


def test_quoted_words() -> None:
    assert [split(raw) for raw in ('""', '"a b"', '"a" "b"', "a b", '"a\\"b"', '"a"b', "")] == [
        [""], ["a b"], ["a", "b"], ["a", "b"], ['a"b'], ["ab"], [],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "services"),
    [
        ("protocol TCP/UDP/SCTP\ntcp-portrange 80 443-444", ["tcp 80,443-444"]),
        ("udp-portrange 53:1024-65535", ["udp from 1024-65535 to 53"]),
        ("sctp-portrange 0", ["sctp 0"]),
        ("tcp-portrange 90-80", ["tcp 80-90"]),
        ("protocol IP\nprotocol-number 89", ["proto 89"]),
        ("protocol IP\nprotocol-number 255", ["proto 255"]),
        ("protocol IP", []),
        ("protocol ICMP", ["icmp"]),
        ("protocol ICMP\nicmptype 8", ["icmp 8"]),
        ("protocol ICMP\nicmptype 255\nicmpcode 255", ["icmp 255:255"]),
        ("protocol ICMP\nicmptype 0\nicmpcode 0", ["icmp 0:0"]),
        ("protocol ICMP6\nicmptype 128", ["icmp6 128"]),
    ],
)
def test_ports_and_protocols_of_services(settings: str, services: list[str]) -> None:
    made = table("firewall service custom", s=settings)
    found = rule("service s", before=made).match
    assert (readable(found).get("services", []), found.unresolved) == (services, ())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("tcp-portrange 65536", "'65536' is not a port (0..65535)"),
        ("protocol IP\nprotocol-number 256", "'256' is not a protocol (0..255)"),
        ("protocol ICMP\nicmptype 256", "'256' is not an ICMP type (0..255)"),
        ("protocol ICMP\nicmptype 3\nicmpcode 256", "'256' is not an ICMP code (0..255)"),
    ],
)
def test_services_that_do_not_exist_are_left_open(settings: str, reason: str) -> None:
    text = table("firewall service custom", s=settings) + table("firewall policy", n1=SIDES + "service s")
    assert odd(text) == [f"2 {reason}"]
    assert VENDOR.parse(text).policies[0].rules[0].match.unresolved == ("s",)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("type iprange\nstart-ip 10.0.0.1\nend-ip 10.0.0.2", "10.0.0.1/32, 10.0.0.2/32"),
        ("type wildcard\nwildcard 10.0.0.0 255.255.255.254", "10.0.0.0/31"),
        ("subnet 10.0.0.0 255.255.255.0", "10.0.0.0/24"),
        ("subnet 10.0.0.0/24", "10.0.0.0/24"),
        ("color 3", "any"),
    ],
)
def test_forms_of_an_address(settings: str, expected: str) -> None:
    made = table("firewall address", a=settings)
    assert str(parse(made).addresses[0].addresses) == (expected if expected != "any" else "any")
    assert str(rule("srcaddr a", before=made).match.source) == expected


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ("type fqdn\nfqdn www.example.com", "fqdn", "www.example.com"),
        ("type geography\ncountry CN", "geo", "CN"),
        ("type interface-subnet\ninterface port1", "dynamic", "port1"),
    ],
)
def test_addresses_that_only_the_device_knows(settings: str, kind: str, words: str) -> None:
    made = table("firewall address", a=settings)
    (found,) = parse(made).addresses
    assert (found.addresses, found.kind, found.text) == (None, kind, words)
    assert rule("dstaddr a", before=made).match.unresolved == ("a",)


def test_an_address_that_is_none_is_told_and_left_open() -> None:
    text = table("firewall address", a="subnet 10.0.0.300 255.255.255.0", b="type iprange\nstart-ip odd")
    assert odd(text) == ["2 the addresses of 'a' are not understood", "5 the addresses of 'b' are not understood"]


def test_pools_and_multicast() -> None:
    config = VENDOR.parse(
        table(
            "firewall ippool",
            p="startip 203.0.113.1\nendip 203.0.113.2\ntype one-to-one",
            q="startip 203.0.113.9",
            r="startip odd",
        )
        + table(
            "firewall multicast-address",
            m="start-ip 239.0.0.1\nend-ip 239.0.0.2",
            n="subnet 239.1.0.0 255.255.0.0\ntype broadcastmask",
        )
    )
    assert {one.name: (str(one.addresses), one.text) for one in config.addresses} == {
        "p": ("203.0.113.1/32, 203.0.113.2/32", "ippool one-to-one"), "q": ("203.0.113.9/32", "ippool overload"),
        "r": ("None", "ippool overload"), "m": ("239.0.0.1/32, 239.0.0.2/32", ""), "n": ("239.1.0.0/16", ""),
    }  # fmt: skip
    assert [one.reason for one in config.unparsed] == ["the range of the pool is not understood"]


@pytest.mark.parametrize(
    ("settings", "dscp", "conditions"),
    [
        ("tos-mask 0xfc\ntos 0xb8", {46}, ()),
        ("tos-mask 0xe0\ntos 0xa0", {40, 41, 42, 43, 44, 45, 46, 47}, ()),
        ("tos-mask 0xfc\ntos 0x00\ntos-negate enable", set(range(1, 64)), ()),
        ("tos-mask 0x00\ntos 0xb8", None, ()),
        ("tos 0xb8", None, ()),
        ("tos-mask 0xff\ntos 0xb8", None, ("tos 0xb8", "tos-mask 0xff")),
        ("tos-mask odd\ntos 0xb8", None, ("tos 0xb8", "tos-mask odd")),
    ],
)
def test_marks_that_a_rule_asks_for(settings: str, dscp: set[int] | None, conditions: tuple[str, ...]) -> None:
    found = rule(*settings.split("\n")).match
    assert (found.dscp, tuple(sorted(found.conditions))) == (dscp, conditions)


@pytest.mark.parametrize(
    ("settings", "dscp", "conditions"),
    [
        ("dscp-match enable\ndscp-value 101110", {46}, ()),
        ("dscp-match enable", {0}, ()),
        ("dscp-match enable\ndscp-value 101110\ndscp-negate enable", set(range(64)) - {46}, ()),
        ("dscp-match enable\ndscp-value 10111", None, ("dscp-value 10111",)),
        ("dscp-match enable\ndscp-value 101112", None, ("dscp-value 101112",)),
        ("dscp-match disable\ndscp-value 101110", None, ()),
    ],
)
def test_marks_in_binary(settings: str, dscp: set[int] | None, conditions: tuple[str, ...]) -> None:
    found = rule(*settings.split("\n")).match
    assert (found.dscp, found.conditions) == (dscp, conditions)


def test_what_is_negated() -> None:
    hosts = table("firewall address", a="subnet 128.0.0.0 128.0.0.0", f="type fqdn\nfqdn x.example")
    assert str(rule("srcaddr a", "srcaddr-negate enable", before=hosts).match.source) == "0.0.0.0/1"
    unknown = rule("dstaddr f", "dstaddr-negate enable", before=hosts).match
    assert (unknown.unresolved, unknown.conditions) == (("f",), ("dstaddr-negate enable",))
    own = table("firewall service custom", s="tcp-portrange 1-65535", t="udp-portrange 53:1-2", u="tcp-portrange 0")
    assert readable(rule("service s", "service-negate enable", before=own).match.services)[-1] == "tcp 0"
    assert rule("service t", "service-negate enable", before=own).match.conditions == ("service-negate enable",)
    assert rule("service nobody", "service-negate enable").match.conditions == ("service-negate enable",)
    assert rule("service ALL", "service-negate enable").match.services == ()


def test_settings_of_a_rule() -> None:
    found = rule("action accept", "name web", "comments all", "status disable", "logtraffic all", "users ann", "groups g")
    assert (found.action, found.comment, found.enabled, found.logged) == (Action.PERMIT, "web: all", False, True)
    assert found.match.conditions == ("users ann", "groups g")
    plain = rule("srcintf port1 port2 port1", "logtraffic utm", "schedule night")
    assert (plain.action, plain.comment, plain.enabled, plain.logged) == (Action.DENY, "", True, False)
    assert (plain.match.source_zones, plain.match.destination_zones) == (("port1", "port2"), ())
    assert (plain.schedule, plain.match.conditions) == ("night", ("schedule night",))
    assert rule("srcintf port1 any").match.source_zones == ()


@pytest.mark.parametrize(
    ("settings", "services", "conditions"),
    [
        ("protocol 17\nstart-port 5000\nend-port 5001", ["udp 5000-5001"], ()),
        ("protocol 17", ["udp"], ()),
        ("protocol 1", ["icmp"], ()),
        ("protocol 255", ["proto 255"], ()),
        ("protocol 256", [], ()),
        ("protocol 0", [], ()),
        ("protocol 6\nstart-port x", ["tcp"], ("start-port x",)),
    ],
)
def test_services_of_multicast_rules(settings: str, services: list[str], conditions: tuple[str, ...]) -> None:
    text = table("firewall multicast-policy", n1=f"srcintf any\ndstintf any\nsrcaddr all\ndstaddr all\n{settings}")
    (found,) = parse(text).policies[0].rules
    assert (readable(found.match).get("services", []), found.match.conditions) == (services, conditions)
    assert found.action is Action.PERMIT


VIP = "extip 203.0.113.5\nextintf port1\nmappedip 10.0.0.5\n"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("", ("static", "203.0.113.5/32", [], "10.0.0.5", "", ("port1",), ())),
        ("portforward enable\nextport 80\nmappedport 8080", ("destination", "203.0.113.5/32", ["tcp 80"], "10.0.0.5", "8080",
         ("port1",), ())),
        ("portforward enable\nprotocol udp\nextport 80-90\nmappedport 80-90",
         ("destination", "203.0.113.5/32", ["udp 80-90"], "10.0.0.5", "80-90", ("port1",), ())),
        ("portforward enable\nprotocol icmp", ("destination", "203.0.113.5/32", ["icmp"], "10.0.0.5", "", ("port1",), ())),
        ("extintf any\nsrcintf-filter port2 port3", ("static", "203.0.113.5/32", [], "10.0.0.5", "", ("port2", "port3"), ())),
        ("type fqdn\nmapped-addr f", ("destination", "203.0.113.5/32", [], "10.0.0.5, f", "", ("port1",), ("type fqdn",))),
        ("extip 203.0.113.5-203.0.113.6", ("static", "203.0.113.5/32, 203.0.113.6/32", [], "10.0.0.5", "", ("port1",), ())),
        ("service HTTP", ("static", "203.0.113.5/32", ["tcp 80"], "10.0.0.5", "", ("port1",), ())),
    ],
)  # fmt: skip
def test_what_a_vip_takes_and_where_it_sends_it(settings: str, expected: tuple[Any, ...]) -> None:
    (found,) = parse(table("firewall vip", v=VIP + settings)).nat_rules
    told = (
        found.kind.value, str(found.match.destination), readable(found.match).get("services", []), found.translated_destination,
        found.translated_service, found.match.source_zones, found.match.conditions,
    )  # fmt: skip
    assert told == expected


def test_real_servers_sources_and_what_is_not_told() -> None:
    servers = (
        "config realservers\nedit 1\nset ip 10.0.0.7\nset port 80\nnext\nedit 2\nset ip 10.0.0.8\nset status disable\nnext\nend\n"
    )
    text = (
        "config firewall vip\nedit v\nset type server-load-balance\nset extip 203.0.113.5\nset extport 80\nset server-type http\n"
        f"{servers}next\nedit w\nset extip 0.0.0.0\nset mappedip 10.0.0.9\nset src-filter 10.9.0.0/16\nnext\n"
        "edit x\nset extip 203.0.113.6\nset src-filter odd\nset mappedip 10.0.0.9\nset status disable\nnext\nend\n"
    )
    first, second, third = parse(text).nat_rules
    assert (first.translated_destination, readable(first.match.services), first.enabled) == ("10.0.0.7:80", ["tcp 80"], True)
    assert (second.match.unresolved, str(second.match.source)) == (("extip",), "10.9.0.0/16")
    assert (third.match.unresolved, str(third.match.source), third.enabled) == (("odd",), "any", False)


@pytest.mark.parametrize("port", ["odd", "65536", "1-x"])
def test_an_external_port_that_does_not_exist_is_told(port: str) -> None:
    text = table("firewall vip", v=f"{VIP}portforward enable\nextport {port}\nmappedport 80")
    assert set(odd(text)) == {"2 the external port of the VIP is not understood"}
    assert VENDOR.parse(text).nat_rules[0].match.services[0].is_any


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("", ("source", "interface", "", [], (), ())),
        ("nat disable", ("exempt", "", "", [], (), ())),
        (
            "protocol 6\ndst-port 80-90\norig-port 1024-65535",
            ("source", "interface", "", ["tcp from 1024-65535 to 80-90"], (), ()),
        ),
        ("protocol 255", ("source", "interface", "", ["proto 255"], (), ())),
        ("protocol 256", ("source", "interface", "", [], (), ())),
        ("protocol 17\ndst-port 0", ("source", "interface", "", ["udp"], (), ())),
        ("nat-ippool p\nnat-port 5000-6000", ("source", "p", "5000-6000", [], (), ("p",))),
        ("orig-addr h\ndst-addr f", ("source", "interface", "", [], ("f",), ("h", "f"))),
        ("status disable\nnat-port 0", ("source", "interface", "", [], (), ())),
    ],
)
def test_central_source_translation(settings: str, expected: tuple[Any, ...]) -> None:
    before = table("firewall address", h="subnet 10.0.0.1/32", f="type fqdn\nfqdn x.example")
    (found,) = parse(before + table("firewall central-snat-map", n1="srcintf any\ndstintf port2\n" + settings)).nat_rules
    told = (
        found.kind.value, found.translated_source, found.translated_service, readable(found.match).get("services", []),
        found.match.unresolved, found.references,
    )  # fmt: skip
    assert told == expected
    assert (found.match.source_zones, found.match.destination_zones) == ((), ("port2",))
    assert found.enabled == ("status" not in settings)


def test_a_range_of_central_translation_that_does_not_exist_is_told() -> None:
    text = table("firewall central-snat-map", n1="protocol 6\ndst-port x")
    assert odd(text) == ["2 'x' is not a port (0..65535)"]
    assert readable(VENDOR.parse(text).nat_rules[0].match.services) == ["tcp"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("src 10.0.0.0/24", {"source": "10.0.0.0/24", "destination": "any4"}),
        ("src 10.0.0.0/25 10.0.0.128/25\ndst 10.9.0.0/16", {"source": "10.0.0.0/24", "destination": "10.9.0.0/16"}),
        ("src 10.9.0.0/32\nsrcaddr h", {"source": "10.0.0.1/32, 10.9.0.0/32", "destination": "any4"}),
        ("srcaddr f", {"source": "any4", "destination": "any4", "unresolved": ["f"]}),
        ("srcaddr f\nsrc-negate enable",
         {"source": "any4", "destination": "any4", "unresolved": ["f"], "conditions": ["src-negate enable"]}),
        ("dst 128.0.0.0/1\ndst-negate enable", {"source": "any4", "destination": "0.0.0.0/1"}),
        ("protocol 6\nstart-port 80\nend-port 90", {"source": "any4", "destination": "any4", "services": ["tcp 80-90"]}),
        ("protocol 17\nstart-source-port 5\nend-source-port 6", {"source": "any4", "destination": "any4",
         "services": ["udp from 5-6"]}),
        ("protocol 47", {"source": "any4", "destination": "any4", "services": ["proto 47"]}),
        ("protocol 255", {"source": "any4", "destination": "any4", "services": ["proto 255"]}),
        ("protocol 256", {"source": "any4", "destination": "any4"}),
        ("input-device port1", {"source": "any4", "destination": "any4", "source_zones": ["port1"]}),
        ("internet-service-id 65537", {"source": "any4", "destination": "any4", "conditions": ["internet-service-id 65537"]}),
    ],
)  # fmt: skip
def test_what_a_policy_route_asks_for(settings: str, expected: dict[str, Any]) -> None:
    before = table("firewall address", h="subnet 10.0.0.1/32", f="type fqdn\nfqdn x.example")
    assert readable(routed(*settings.split("\n"), before=before)) == expected


def test_policy_routes_that_are_not_understood() -> None:
    text = table("router policy", n1="src odd", n2="protocol 6\nstart-port x", n3="odd 1")
    assert odd(text) == ["3 'odd' is not a prefix", "5 'x' is not a port (0..65535)", "10 the setting is not known"]
    first, second, third = VENDOR.parse(text).policies[0].rules
    assert first.match.unresolved == ("odd",) and readable(second.match.services) == ["tcp"]
    assert third.match.conditions == ("odd 1",)


def test_a_rule_of_sdwan() -> None:
    before = table("firewall address", a="subnet 128.0.0.0/1", f="type fqdn\nfqdn x.example") + table(
        "firewall address6", s="ip6 2001:db8::/32"
    )
    rows = "edit 1\nset name first\nset src a\nset src-negate enable\nset dst all\nset input-device any port1\n"
    rows += "set status disable\nnext\n"
    rows += "edit 2\nset src f\nset src-negate enable\nset internet-service enable\nset internet-service-app-ctrl 7\nnext\n"
    rows += "edit 3\nset src a\nset src6 s\nset src-negate enable\nset odd 1\nnext\n"
    config = VENDOR.parse(f"{before}config system sdwan\nconfig service\n{rows}end\nend\n")
    first, second, third = config.policies[0].rules
    assert (str(first.match.source), first.match.source_zones, first.enabled, first.comment) == (
        "0.0.0.0/1",
        ("port1",),
        False,
        "first",
    )
    assert second.match.unresolved == ("f", "internet-service 7") and second.match.conditions[0] == "src-negate enable"
    assert third.match.conditions == ("odd 1", "src-negate enable") and third.match.source.is_any
    assert [one.reason for one in config.unparsed] == ["the setting is not known"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("dst 10.0.0.0 255.0.0.0\ngateway 192.0.2.1\ndevice port1\ndistance 10", [("10.0.0.0/8", "192.0.2.1", "port1", 10,
         False)]),
        ("gateway 192.0.2.1", [("0.0.0.0/0", "192.0.2.1", "", None, False)]),
        ("dst 10.0.0.0 255.0.0.0\nblackhole enable\ndistance 254", [("10.0.0.0/8", "", "", 254, True)]),
        ("dst 10.0.0.0 255.0.0.0\nsdwan enable", [("10.0.0.0/8", "", "virtual-wan-link", None, False)]),
        ("dst 10.0.0.0 255.0.0.0\nsdwan-zone z", [("10.0.0.0/8", "", "z", None, False)]),
        ("dstaddr n\ngateway 0.0.0.0\ndevice port1", [("10.0.0.0/31", "", "port1", None, False),
        ("10.0.0.2/32", "", "port1", None, False)]),
        ("status disable\ngateway 192.0.2.1", []),
    ],
)  # fmt: skip
def test_static_routes(settings: str, expected: list[tuple[object, ...]]) -> None:
    before = table("firewall address", n="type iprange\nstart-ip 10.0.0.0\nend-ip 10.0.0.2")
    config = parse(before + table("router static", n1=settings))
    told = [(one.prefix, one.next_hop, one.interface, one.distance, one.discard) for one in config.routes]
    assert told == expected


@pytest.mark.parametrize(("mtu", "found"), [("9000", 9000), ("99999", 99999), ("100000", None), ("odd", None)])
def test_lines_of_an_interface(mtu: str, found: int | None) -> None:
    text = (
        f"config system interface\nedit port1\nset ip 192.0.2.1 255.255.255.0\nset alias lab\n"
        f"set mtu-override enable\nset mtu {mtu}\n"
        "set speed 10000full\nset status down\nset interface port9\nconfig secondaryip\nedit 1\n"
        "set ip 198.51.100.1 255.255.255.0\n"
        "next\nend\n"
        "config ipv6\nset ip6-address 2001:db8::1/64\nconfig ip6-extra-addr\nedit 2001:db8:1::1/64\nnext\nend\nend\nnext\n"
        "edit port2\nset mtu 9000\nset ip 0.0.0.0 0.0.0.0\nset speed auto\nnext\nend\n"
    )
    first, second = parse(text).interfaces
    assert first.addresses == ("192.0.2.1/24", "198.51.100.1/24", "2001:db8::1/64", "2001:db8:1::1/64")
    assert (first.description, first.speed_bps, first.enabled, first.mtu) == ("lab", 10**10, False, found)
    assert (second.addresses, second.speed_bps, second.enabled, second.mtu) == ((), None, True, None)


def test_addresses_of_interfaces_that_are_none_are_told() -> None:
    text = (
        "config system interface\nedit port1\nset ip 192.0.2.300 255.255.255.0\nconfig ipv6\nconfig ip6-extra-addr\n"
        "edit odd\nnext\n"
        "end\nend\nnext\nend\n"
    )
    assert odd(text) == ["3 not an address with a mask", "6 not an address with a length"]


def test_commands_of_scripts_on_tables() -> None:
    made = table("firewall address", a="subnet 10.0.0.1/32", b="subnet 10.0.0.2/32", c="subnet 10.0.0.3/32")
    move = "config firewall address\nmove c before a\nclone a to d\nrename b to e\nrename a to c\ndelete nobody\nodd\nend\n"
    config = VENDOR.parse(made + move)
    assert {one.name: str(one.addresses) for one in config.addresses} == {
        "a": "10.0.0.1/32", "c": "10.0.0.3/32", "d": "10.0.0.1/32", "e": "10.0.0.2/32",
    }  # fmt: skip
    assert [one.text for one in config.unparsed] == ["rename a to c", "odd"]
    assert parse(made + "config firewall address\npurge\nend\n").addresses == ()


def test_lines_that_stand_nowhere_are_told() -> None:
    text = (
        "set x 1\nnext\nend\nedit 1\nconfig firewall address\nnext\nedit a\nset subnet 10.0.0.1/32\nmove a before b\nnext\nend\n"
    )
    config = VENDOR.parse(text)
    assert ([one.line for one in config.unparsed], config.ignored) == ([1, 9], (2, 3, 6))


def test_settings_are_set_appended_and_taken_back() -> None:
    group = table("firewall address", a="subnet 10.0.0.1/32", b="subnet 10.0.0.2/32", c="subnet 10.0.0.3/32")
    group += "config firewall addrgrp\nedit g\nset member a b\nappend member c\nunselect member a\nnext\n"
    group += "edit h\nappend member a\nnext\nedit i\nset member a\nset member b\nunset comment\nnext\nend\n"
    assert [(one.name, one.members) for one in parse(group).groups] == [("g", ("b", "c")), ("h", ("a",)), ("i", ("b",))]
