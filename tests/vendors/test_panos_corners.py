"""PAN-OS: the smallest texts that decide a field: zones of rule types, negation, ports, applications, marks, QoS, structure."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from policyhub.domain.rules import Match
from policyhub.vendors.paloalto_panos import VENDOR
from tests.vendors.corners import reasons
from tests.vendors.model_json import readable

FIELDS = {
    "from": "any",
    "to": "any",
    "source": "any",
    "destination": "any",
    "application": "any",
    "service": "any",
    "action": "deny",
}
R = "set rulebase security rules r"
odd = partial(reasons, VENDOR)


def rule(*more: str, **over: str) -> str:
    """A complete rule `r`, some of its fields otherwise, and more settings of it."""
    lines = [f"{R} {name} {over.get(name.replace('from', 'from_'), value)}" for name, value in FIELDS.items()]
    return "\n".join([*lines, *(f"{R} {text}" for text in more)]) + "\n"


def match(text: str) -> Match:
    config = VENDOR.parse(text)
    assert not config.unparsed
    return config.policies[0].rules[0].match


@pytest.mark.parametrize(
    ("kind", "from_zones", "to_zones", "expected"),
    [
        ("universal", "a", "b", {"source_zones": ["a"], "destination_zones": ["b"]}),
        ("intrazone", "a", "any", {"source_zones": ["a"], "destination_zones": ["a"]}),
        ("intrazone", "[ a b ]", "any", {"source_zones": ["a", "b"], "conditions": ["rule-type intrazone"]}),
        ("interzone", "a", "b", {"source_zones": ["a"], "destination_zones": ["b"]}),
        ("interzone", "a", "[ a b ]",
         {"source_zones": ["a"], "destination_zones": ["a", "b"], "conditions": ["rule-type interzone"]}),
        ("interzone", "a", "any", {"source_zones": ["a"], "conditions": ["rule-type interzone"]}),
        ("interzone", "any", "b", {"destination_zones": ["b"], "conditions": ["rule-type interzone"]}),
    ],
)  # fmt: skip
def test_a_rule_type_is_in_the_zones_or_a_condition(kind: str, from_zones: str, to_zones: str, expected: dict[str, Any]) -> None:
    assert readable(match(rule(f"rule-type {kind}", from_=from_zones, to=to_zones))) == expected


def test_a_rule_type_that_does_not_exist_is_told_and_a_condition() -> None:
    text = rule("rule-type odd")
    assert odd(text) == ["8 rule-type 'odd' is not understood"]
    assert VENDOR.parse(text).policies[0].rules[0].match.conditions == ("rule-type odd",)


@pytest.mark.parametrize(
    ("setting", "conditions"),
    [
        ("source-user any", ()),
        ("source-hip no-hip", ()),
        ("category any", ()),
        ("source-user [ any ann ]", ("source-user ann",)),
        ("category [ gambling games ]", ("category gambling games",)),
        ("schedule night", ("schedule night",)),
        ("target devices 0011", ("target 0011",)),
    ],
)
def test_fields_that_say_any_are_no_condition(setting: str, conditions: tuple[str, ...]) -> None:
    assert match(rule(setting)).conditions == conditions


def test_a_target_that_is_negated_says_so() -> None:
    assert match(rule("target devices 0011", "target negate yes")).conditions == ("target not 0011",)


def test_negated_addresses() -> None:
    assert match(rule("negate-source yes")).source.is_empty
    assert str(match(rule("negate-destination yes", destination="128.0.0.0/1")).destination) == "0.0.0.0/1, ::/0"
    assert str(match(rule("negate-source no", source="10.0.0.0/8")).source) == "10.0.0.0/8"
    assert odd(rule("negate-source maybe", source="10.0.0.0/8")) == ["8 negate-source is yes or no"]


@pytest.mark.parametrize("field", ["from", "to", "source", "destination", "application", "service"])
def test_a_security_rule_needs_each_field(field: str) -> None:
    text = "".join(line for line in rule().splitlines(keepends=True) if f" r {field} " not in line)
    assert match(text).unresolved == (f"{field} is missing",)


def test_an_intrazone_rule_needs_no_destination_zone() -> None:
    text = "".join(line for line in rule("rule-type intrazone", from_="a").splitlines(keepends=True) if " r to " not in line)
    assert match(text).unresolved == ()


@pytest.mark.parametrize(
    ("ports", "service"),
    [
        ("0", "tcp 0"), ("0-0", "tcp 0"), ("65535", "tcp 65535"), ("1-65535", "tcp 1-65535"), ("1,2,4-5", "tcp 1-2,4-5"),
        ('"80, 443"', "tcp 80,443"), ("7-7", "tcp 7"),
    ],
)  # fmt: skip
def test_ports_of_a_service(ports: str, service: str) -> None:
    assert readable(match(f"set service s protocol tcp port {ports}\n" + rule(service="s")).services) == [service]


@pytest.mark.parametrize(
    ("ports", "reason"),
    [
        ("5-4", "'5-4' is not a range of ports"),
        ("65536", "'65536' is not a port (0..65535)"),
        ("1-x", "'x' is not a port (0..65535)"),
    ],
)
def test_ports_that_do_not_exist_leave_the_service_open(ports: str, reason: str) -> None:
    text = f"set service s protocol tcp port {ports}\n" + rule(service="s")
    assert odd(text) == [f"1 {reason}"]
    assert VENDOR.parse(text).policies[0].rules[0].match.unresolved == ("s",)


@pytest.mark.parametrize(
    ("default", "services"),
    [
        ("port [ tcp/80,8000-8001 udp/dynamic icmp ip/47 ]", ["tcp 80,8000-8001", "udp", "icmp", "proto 47"]),
        ("port tcp/dynamic", ["tcp"]),
        ("port ip/255", ["proto 255"]),
        ("ident-by-ip-protocol 0", ["proto 0"]),
        ("ident-by-ip-protocol 255", ["proto 255"]),
        ("ident-by-icmp-type type 8", ["icmp 8"]),
        ("ident-by-icmp-type 0", ["icmp 0"]),
        ("ident-by-icmp-type type 255\nset application own default ident-by-icmp-type code 1", ["icmp 255:1"]),
    ],
)
def test_default_ports_of_a_custom_application(default: str, services: list[str]) -> None:
    text = f"set application own default {default}\n" + rule(application="own", service="application-default")
    assert readable(match(text)) == {"services": services, "conditions": ["application own"]}


@pytest.mark.parametrize(
    "default", ["ident-by-ip-protocol 256", "port tcp/65536", "port xyz/1", "port ip/256", "ident-by-icmp-type 256"]
)
def test_default_ports_that_do_not_exist_leave_the_application_open(default: str) -> None:
    text = f"set application own default {default}\n" + rule(application="own", service="application-default")
    assert [reason.split()[0] for reason in odd(text)] == ["1"]
    found = VENDOR.parse(text).policies[0].rules[0].match
    assert readable(found) == {"conditions": ["application own", "service application-default"]}


@pytest.mark.parametrize(
    ("marking", "dscp"),
    [
        ("ip-dscp ef", 46), ("ip-dscp af11", 10), ("ip-dscp 101110", 46), ("ip-dscp 000000", 0), ("ip-dscp 63", 63),
        ("ip-precedence cs3", 24), ("ip-precedence 101", 40), ("ip-precedence 7", 56), ("ip-precedence cs0", 0),
        ("follow-c2s-flow", None),
    ],
)  # fmt: skip
def test_marks_of_security_rules(marking: str, dscp: int | None) -> None:
    config = VENDOR.parse(rule(f"qos marking {marking}"))
    assert not config.unparsed
    marks = [made.marker.dscp for policy in config.qos_policies for made in policy.classes if made.marker]
    assert marks == ([] if dscp is None else [dscp])


@pytest.mark.parametrize("marking", ["ip-dscp 64", "ip-dscp 100", "ip-dscp fast", "ip-precedence 8", "ip-precedence 11"])
def test_marks_that_do_not_exist(marking: str) -> None:
    assert odd(rule(f"qos marking {marking}")) == [f"8 '{marking.split()[1]}' is not a code point"]


@pytest.mark.parametrize(
    ("points", "dscp"),
    [
        ("c ef codepoint ef", {46}),
        ("c custom codepoint value 001010", {10}),
        ("c cs codepoint cs1", {8}),
    ],
)
def test_code_points_of_qos_rules(points: str, dscp: set[int]) -> None:
    q = "set rulebase qos rules q"
    found = match(f"{q} from any\n{q} dscp-tos codepoints {points}\n{q} action class 1\n")
    assert found.dscp == dscp
    assert match(f"{q} from any\n{q} action class 1\n").dscp is None
    assert odd(f"{q} from any\n{q} dscp-tos codepoints c ef codepoint odd\n") == ["2 'odd' is not a code point"]


def test_what_an_interface_and_a_profile_say() -> None:
    port, profile = "set network qos interface ethernet1", "set network qos profile"
    config = VENDOR.parse(
        f"{port}/1 regular-traffic bandwidth egress-max 100\n{port}/2 regular-traffic default-group qos-profile p\n"
        f"{port}/3 enabled no\n{port}/3 interface-bandwidth egress-max 0\n{port}/3 regular-traffic bandwidth egress-max 0\n"
        f"{port}/4 interface-bandwidth egress-max 20\n{port}/4 tunnel-traffic default-group per-tunnel-qos-profile p\n"
        f"{profile} p class-bandwidth-type mbps class class1 priority real-time\n"
        f"{profile} p class-bandwidth-type mbps class class1 class-bandwidth egress-max 10\n"
        f"{profile} p class-bandwidth-type mbps class class2 class-bandwidth egress-guaranteed 0.5\n"
        f"{profile} q class-bandwidth-type percentage class class1 class-bandwidth egress-max 10\n"
        f"{profile} q class-bandwidth-type percentage class class1 class-bandwidth egress-guaranteed 5\n"
    )
    assert not config.unparsed
    ports = {policy.name: policy for policy in config.qos_policies}
    told = {
        name: [(made.name, made.shaper and made.shaper.rate_bps, made.child_policy) for made in policy.classes]
        for name, policy in ports.items()
        if name.startswith("interface")
    }
    assert told == {
        "interface ethernet1/1": [("clear-text", 100_000_000, "")],
        "interface ethernet1/2": [("clear-text", None, "p")],
        "interface ethernet1/3": [],
        "interface ethernet1/4": [("all", 20_000_000, ""), ("tunnel", None, "p")],
    }
    assert [bool(ports[f"interface ethernet1/{n}"].attachments) for n in (1, 2, 3, 4)] == [True, True, False, True]
    first, second = (made.queue for made in ports["p"].classes)
    assert first and (first.is_strict_priority, first.ceiling_bps, first.guaranteed_bps) == (True, 10_000_000, None)
    assert second and (second.is_strict_priority, second.ceiling_bps, second.guaranteed_bps) == (False, None, 500_000)
    (part,) = (made.queue for made in ports["q"].classes)
    assert part and (part.ceiling_percent, part.guaranteed_percent, part.ceiling_bps) == (10, 5, None)


def test_times_of_schedules() -> None:
    s = "set schedule"
    text = (
        f"{s} a schedule-type recurring weekly monday 08:00-18:00\n{s} a schedule-type recurring weekly friday 08:00-12:00\n"
        f"{s} b schedule-type non-recurring [ 2026/01/01@00:00-2026/12/31@23:59 2025/01/01@00:00-2025/12/31@23:59 ]\n"
        f"{s} c schedule-type non-recurring soon\n{s} d disable-override no\n"
    )
    found = {one.name: (one.text.partition(" ")[0], one.expires) for one in VENDOR.parse(text).schedules}
    assert found == {
        "a": ("weekly", None),
        "b": ("non-recurring", "2026-12-31T23:59"),
        "c": ("non-recurring", None),
        "d": ("", None),
    }
    assert VENDOR.parse(text).schedules[0].text == "weekly monday 08:00-18:00; friday 08:00-12:00"
    assert odd(text) == ["5 the schedule has no times"]


def test_a_shared_gateway_has_objects_and_translations_of_its_own() -> None:
    config = VENDOR.parse(
        "set network shared-gateway sg1 address a ip-netmask 10.0.0.1\n"
        "set network shared-gateway sg1 rulebase nat rules n to any\n"
    )
    assert not config.unparsed
    assert [(one.name, str(one.addresses)) for one in config.addresses] == [("a", "10.0.0.1/32")]
    assert [(one.name, one.rule_set) for one in config.nat_rules] == [("n", "sg1/nat")]


@pytest.mark.parametrize(
    ("inside", "policies", "translations"),
    [
        ("<nat-type>ipv4</nat-type>", [], ["n"]),
        ("<source-translation><dynamic-ip/></source-translation>", [], ["n"]),
        ("<destination-translation/>", [], ["n"]),
        ("<action>allow</action>", ["n"], []),
    ],
)
def test_rules_without_their_rulebase_are_told_by_the_first(inside: str, policies: list[str], translations: list[str]) -> None:
    config = VENDOR.parse(f'<rules><entry name="n"><to><member>any</member></to>{inside}</entry></rules>')
    assert [one.name for policy in config.policies for one in policy.rules] == policies
    assert [one.name for one in config.nat_rules] == translations


def test_set_lines_that_are_no_whole_command() -> None:
    assert odd("set a" + " b" * 80 + f"\nset\n{R} source [ a b\n") == [
        "1 more words than any line of a configuration has", "2 nothing follows the command", "3 a bracket is not closed",
    ]  # fmt: skip


def test_braces_nested_beyond_reason_are_told_line_by_line() -> None:
    reasons = odd("config {\n" + "a {\n" * 70 + "}\n" * 71 + "}\n")
    assert reasons.count("71 nested too deep") == 1 and "63 nested too deep" not in reasons
    assert "143 a brace closes that was not opened" in reasons


def test_who_manages_the_device_and_what_it_is_called() -> None:
    s = "set deviceconfig system"
    config = VENDOR.parse(f"{s} hostname fw-1\n{s} panorama-server 10.0.0.1\nset deviceconfig setting x y\n{s} dns-setting x y\n")
    assert (config.hostname, config.managed_by, config.ignored) == ("fw-1", "Panorama", (3, 4))
    inside = VENDOR.parse(f"{s} hostname fw-1\nset template T config devices d deviceconfig system hostname t-1\n")
    assert (inside.hostname, inside.managed_by) == ("fw-1", "")


def test_an_entry_of_a_list_is_taken_back_alone_and_fields_follow_in_each_vsys() -> None:
    config = VENDOR.parse(
        "set address x ip-netmask 10.0.0.1\nset vsys vsys1 address y ip-netmask 10.0.0.2 description z\ndelete address x\n"
        "rename address y to w\nset vsys vsys1 address y2 ip-netmask 10.0.0.3\n"
        "set rulebase security rules r source [ y y2 ]\ndelete rulebase security rules r source y\n"
    )
    assert [(one.name, str(one.addresses)) for one in config.addresses] == [("y", "10.0.0.2/32"), ("y2", "10.0.0.3/32")]
    assert [str(one.match.source) for one in config.policies[0].rules] == ["10.0.0.3/32"]
    assert [unparsed.line for unparsed in config.unparsed] == [4]


def test_a_list_is_taken_back_word_by_word() -> None:
    lines = f"{R} source [ 10.0.0.1 10.0.0.2 10.0.0.3 ]\ndelete rulebase security rules r source [ 10.0.0.1 10.0.0.3 ]\n"
    config = VENDOR.parse(lines)
    assert str(config.policies[0].rules[0].match.source) == "10.0.0.2/32" and not config.unparsed
    assert odd(lines + "delete rulebase security rules r source [ 10.0.0.2 10.0.0.9 ]\n") == ["3 there is nothing to delete"]


@pytest.mark.parametrize(("length", "is_told"), [(5_000, True), (100, False)])
def test_a_line_longer_than_any_configuration_writes_is_told(length: int, is_told: bool) -> None:
    told = odd(f"{rule()}delete address {'x' * length}\n")
    assert told == [f"8 {'the line is too long to be configuration' if is_told else 'there is nothing to delete'}"]
    assert odd(f"{rule()}set address a description {'x' * 5_000}\n") == ["8 the address has no value"]


def test_only_prompts_stand_beside_documents() -> None:
    document = '<rules><entry name="r"><action>allow</action></entry></rules>\n'
    assert odd(f"ann@fw> show config running\n{document}") == []
    assert odd(f"something else\n{document}") == ["1 not understood"]


def test_running_rules_whose_parts_only_the_device_knows() -> None:
    running = (
        '"r; index: 4" {\n from any;\n source [ 10.0.0.0/8 ];\n source-region none;\n source-negate yes;\n to any;\n'
        " destination any;\n destination-region CN;\n user [ any ann ];\n"
        " application/service 0:any/any/any/any;\n action allow;\n}\n"
    )
    (found,) = VENDOR.parse(running).policies[0].rules
    assert found.match.unresolved == ("CN",) and found.match.destination.is_any
    assert not found.match.source.is_any and found.match.source.size == (1 << 32) - (1 << 24) + (1 << 128)
    assert found.match.conditions == ("source-user ann",)


def running(service: str) -> str:
    fields = "".join(f" {name} any;\n" for name in ("from", "source", "to", "destination"))
    return f'"r" {{\n{fields} application/service {service};\n action deny;\n}}\n'


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("0:any/tcp/any/443", ["tcp 443"]),
        ("0:any/6/any/1-2", ["tcp 1-2"]),
        ("0:any/255/any/any", ["proto 255"]),
        ("0:any/udp/53/any", ["udp from 53"]),
        ("0:any/any/any/any", []),
        ("[ 0:any/tcp/any/80 1:any/any/any/any ]", []),
    ],
)
def test_services_of_running_rules(service: str, expected: list[str]) -> None:
    found = match(
        f'"r" {{\n from any;\n source any;\n to any;\n destination any;\n application/service {service};\n action deny;\n}}\n'
    )
    assert readable(found).get("services", []) == expected


@pytest.mark.parametrize("service", ["0:any/256/any/any", "0:any/odd/any/1", "x", "0:any/tcp/any/65536"])
def test_services_of_running_rules_that_do_not_exist(service: str) -> None:
    text = running(service)
    assert [reason.split()[0] for reason in odd(text)] == ["6"]
    assert VENDOR.parse(text).policies[0].rules[0].match.services[0].is_any


@pytest.mark.parametrize(
    ("translate", "expected"),
    [
        ("src: 10.0.0.1 (static-ip) (pool idx: 2)", ("source", "10.0.0.1", "", "", ("static-ip",))),
        ("dst: 10.0.0.5", ("destination", "", "10.0.0.5", "", ())),
        ("dst: 2001:db8::5", ("destination", "", "2001:db8::5", "", ())),
        ("dst: 10.0.0.5:80", ("destination", "", "10.0.0.5", "80", ())),
    ],
)
def test_translations_of_running_rules(translate: str, expected: tuple[object, ...]) -> None:
    (found,) = VENDOR.parse(f'"n" {{\n nat-type ipv4;\n from any;\n to any;\n translate-to "{translate}";\n}}\n').nat_rules
    told = found.kind.value, found.translated_source, found.translated_destination, found.translated_service, found.notes
    assert told == expected


def test_shared_rules_of_panorama_are_counted_under_their_own_name() -> None:
    text = (
        '<response status="success"><result><rule-hit-count><shared><pre-rulebase><entry name="security"><rules><entry name="r">'
        "<rule-state>Used</rule-state></entry></rules></entry></pre-rulebase></shared></rule-hit-count></result></response>"
    )
    sample = VENDOR.counters(text, None)
    assert sample is not None
    assert [(hit.policy, hit.key, hit.hits, hit.last_hit_at) for hit in sample.hits] == [("shared/pre-security", "r", 1, None)]


N = "set rulebase nat rules n"


def test_a_field_that_is_not_understood_narrows_its_rule() -> None:
    (found,) = VENDOR.parse(rule("odd [ x y ]")).policies[0].rules
    assert found.match.conditions == ("odd x y",)


@pytest.mark.parametrize(
    ("lines", "service", "unresolved"),
    [
        ("protocol udp\nport 5000", ["udp 5000"], ()),
        ("protocol udp", [], ("port is missing",)),
        ("port 5000", [], ("port is missing",)),
        ("protocol tcp\nport 7-6", [], ("7-6",)),
    ],
)
def test_an_application_override_needs_protocol_and_port(lines: str, service: list[str], unresolved: tuple[str, ...]) -> None:
    text = "".join(f"set rulebase application-override rules o {line}\n" for line in lines.split("\n"))
    found = VENDOR.parse(text).policies[0].rules[0].match
    assert (readable(found).get("services", []), found.unresolved) == (service, unresolved)


@pytest.mark.parametrize(
    ("lines", "translated", "notes"),
    [
        (["nat-type nat64"], "", ("nat-type nat64",)),
        (["source-translation dynamic-ip translated-address pool",
          "source-translation dynamic-ip fallback translated-address spare"], "pool", ("fallback spare",)),
        (["destination-translation translated-address 10.0.0.5", "destination-translation dns-rewrite direction reverse"],
         "10.0.0.5", ("dns-rewrite reverse",)),
        (["dynamic-destination-translation translated-address pool",
          "dynamic-destination-translation distribution least-sessions"], "pool", ("distribution least-sessions",)),
    ],
)  # fmt: skip
def test_what_a_translation_does_besides_is_noted(lines: list[str], translated: str, notes: tuple[str, ...]) -> None:
    (found,) = VENDOR.parse("".join(f"{N} {line}\n" for line in lines)).nat_rules
    assert (found.translated_source or found.translated_destination).split(" ")[0] == translated
    assert set(notes) <= set(found.notes)


def test_routers_of_the_newer_releases_and_interfaces_that_stand_alone() -> None:
    config = VENDOR.parse(
        "set network logical-router lr vrf default interface ethernet1/1\n"
        "set network logical-router lr vrf red interface tunnel.1\n"
        "set network interface ethernet ethernet1/1 layer3 ip 192.0.2.1/24\n"
        "set network interface tunnel units tunnel.1 ip 10.9.0.1/30\n"
        "set network interface loopback ip 10.8.0.1/32\nset network interface vlan units vlan.7 comment seven\n"
        "set import network interface ethernet1/1\n"
    )
    assert not config.unparsed
    told = {one.name: (one.vrf, [str(address) for address in one.addresses]) for one in config.interfaces}
    assert told["ethernet1/1"] == ("lr", ["192.0.2.1/24"])
    assert told["tunnel.1"] == ("lr/red", ["10.9.0.1/30"])
    assert told["loopback"] == ("", ["10.8.0.1/32"]) and "vlan.7" in told


def test_parents_of_device_groups_stand_among_the_internal_numbers() -> None:
    def entry(name: str, inside: str) -> str:
        return f'<entry name="{name}">{inside}</entry>'

    one = entry("h", "<ip-netmask>10.0.0.1</ip-netmask>")
    rules = (
        "<pre-rulebase><security><rules>"
        + entry("r", "<source><member>h</member></source>")
        + "</rules></security></pre-rulebase>"
    )
    groups = entry("P", f"<address>{one}</address>") + entry("C", rules)
    text = (
        '<config version="10.1.0" urldb="x"><readonly><devices>'
        + entry("d", "<device-group>" + entry("C", "<parent-dg>P</parent-dg>") + "</device-group>")
        + "</devices></readonly><devices>"
        + entry("d", f"<device-group>{groups}</device-group>")
        + "</devices></config>"
    )
    (found,) = VENDOR.parse(text).policies[0].rules
    assert str(found.match.source) == "10.0.0.1/32"


def test_comments_members_and_depth_of_xml() -> None:
    members = "<member>10.0.0.1<b>x</b></member>\n<member>10.0.0.2</member>"
    config = VENDOR.parse(f'<rules>\n<!-- one\ntwo -->\n<entry name="r"><source>{members}</source>\n</entry></rules>')
    assert [unparsed.line for unparsed in config.unparsed] == [4]
    assert not config.policies[0].rules[0].match.is_exact
    deep = VENDOR.parse("<config>\n" + "<a>\n" * 80 + "</a>\n" * 80 + "</config>")
    assert 81 in [unparsed.line for unparsed in deep.unparsed]


def test_logs_that_are_cut_off() -> None:
    fields = ["1", "2026/11/30 06:30:00", "001", "TRAFFIC", "end", "2305", "2026/11/30 06:30:00", *["x"] * 4, "rule", *["x"] * 3]
    whole = ",".join([*fields, "vsys1", *["x"] * 7, "2"])
    assert VENDOR.rule_uses
    assert [(use.key, use.sessions) for use in VENDOR.rule_uses(whole)] == [("rule", 2)]
    assert VENDOR.rule_uses(whole.rpartition(",")[0]) == ()
    assert VENDOR.rule_uses(whole.replace("06:30:00", "26:30:00"))[0].last_at is None
