"""FortiOS: what golden cases cannot say: pasted sessions, scripts, lost ends, exclusions, odd values."""

from __future__ import annotations

import pytest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.evaluation import Seen, StageKind
from policyhub.domain.nat import NatKind
from policyhub.domain.rules import Action, Rule
from policyhub.vendors.fortinet_fortios import VENDOR
from policyhub.vendors.fortinet_fortios.tree import split

POLICY = """config firewall policy
    edit {name}
        set srcintf "{source_zone}"
        set dstintf "{zone}"
        set srcaddr "{source}"
        set dstaddr "{target}"
        set action {action}
        set schedule "always"
        set service "{service}"
    next
end
"""


def policy(name: int = 1, *, source: str = "all", target: str = "all", action: str = "accept", service: str = "ALL") -> str:
    return POLICY.format(name=name, source_zone="wan", zone="dmz", source=source, target=target, action=action, service=service)


def only_rule(text: str) -> Rule:
    (found,) = (rule for one in VENDOR.parse(text).policies for rule in one.rules)
    return found


def test_a_pasted_session_reads_like_a_backup() -> None:
    lines = policy().splitlines()
    session = "\n".join([f"FGT (root) # {lines[0]}", *(f"FGT (policy) # {line.strip()}" for line in lines[1:]), "FGT (root) # "])
    config = VENDOR.parse("FGT (root) # show firewall policy\n" + session)
    assert config.unparsed == ()
    assert [rule.name for rule in config.policies[0].rules] == ["1"]


def test_a_missing_next_and_end_lose_nothing() -> None:
    config = VENDOR.parse(policy(1).replace("    next\nend\n", "") + policy(2))
    assert [rule.name for one in config.policies for rule in one.rules] == ["1", "2"]
    assert config.unparsed == ()


def test_an_unclosed_quote_costs_one_line() -> None:
    config = VENDOR.parse(policy(1).replace('set schedule "always"', 'set comments "half') + policy(2))
    assert [rule.name for one in config.policies for rule in one.rules] == ["1", "2"]
    assert [unparsed.reason for unparsed in config.unparsed] == ["a quote is not closed"]


def test_tables_in_tables_without_an_end_are_told_and_not_kept() -> None:
    deep = "".join(f"config deep-{number}\n" for number in range(60))
    config = VENDOR.parse(policy() + deep)
    assert config.rule_count == 1
    assert len(config.unparsed) == 60


def test_text_over_lines_may_hold_words_of_the_grammar() -> None:
    page = 'config system replacemsg http "x"\n    set buffer "<html>\nconfig firewall policy\nedit 9\n</html>"\nend\n'
    config = VENDOR.parse(page + policy(1))
    assert [rule.name for one in config.policies for rule in one.rules] == ["1"]


def test_a_group_line_longer_than_any_other_platform_writes_is_read() -> None:
    names = [f"host-{n:04}" for n in range(1200)]
    hosts = "".join(f'edit "{name}"\nset subnet 10.0.{n >> 8}.{n & 255} 255.255.255.255\nnext\n' for n, name in enumerate(names))
    members = " ".join(f'"{name}"' for name in names)
    text = f'config firewall address\n{hosts}end\nconfig firewall addrgrp\nedit "g"\nset member {members}\nnext\nend\n'
    assert len(members) > 10_000
    assert only_rule(text + policy(source="g")).match.source.size == 1200


def test_scripts_append_unset_and_rename() -> None:
    text = """config firewall address
    edit "old"
        set subnet 10.0.0.0 255.255.255.0
    next
    edit "more"
        set subnet 10.0.1.0 255.255.255.0
    next
    rename "old" to "new"
end
config firewall policy
    edit 1
        set srcintf "a"
        set dstintf "b"
        set srcaddr "old"
        append srcaddr "more"
        set dstaddr "all"
        set action accept
        set service "HTTP"
        unset service
        set service "SSH"
        set schedule "always"
    next
end
"""
    match = only_rule(text).match
    assert match.source == AddressSet.of("10.0.0.0/23")
    assert [service.destination_ports for service in match.services] == [((22, 22),)]


VIPS = """config firewall vip
    edit "web"
        set extip 203.0.113.10
        set mappedip "10.0.0.10"
        set extintf "wan"
        set portforward enable
        set extport 8443
        set mappedport 443
    next
    edit "farm"
        set type server-load-balance
        set extip 203.0.113.11
        set extintf "any"
        set server-type tcp
        set extport 25
        config realservers
            edit 1
                set ip 10.0.0.21
                set port 2525
            next
            edit 2
                set ip 10.0.0.22
                set port 2525
            next
        end
    next
end
config firewall vipgrp
    edit "public"
        set member "web" "farm"
    next
end
"""


def test_a_vip_group_stands_for_external_addresses_and_ports() -> None:
    config = VENDOR.parse(VIPS + policy(target="public", service="HTTPS"))
    match = config.policies[0].rules[0].match
    assert match.destination == AddressSet.of("203.0.113.10/31")
    assert {service.destination_ports for service in match.services} == {((443, 443),), ((8443, 8443),)}
    assert match.conditions == ("vip web 8443 -> 443",)
    assert [(rule.kind, rule.translated_destination) for rule in config.nat_rules] == [
        (NatKind.DESTINATION, "10.0.0.10"),
        (NatKind.DESTINATION, "10.0.0.21:2525, 10.0.0.22:2525"),
    ]


@pytest.mark.parametrize(
    ("deny", "conditions"),
    [
        (policy(1, action="deny"), ("match-vip disable",)),
        (policy(1, action="deny").replace("    next", "        set match-vip enable\n    next"), ()),
        (policy(1, action="deny").replace('"wan"', '"lan"'), ()),
        (policy(1, action="deny").replace("    next", "        set status disable\n    next"), ()),
    ],
)
def test_only_a_deny_that_a_vip_evades_says_so(deny: str, conditions: tuple[str, ...]) -> None:
    rules = VENDOR.parse(VIPS + deny + policy(2, target="web")).policies[0].rules
    assert rules[0].match.conditions == conditions


@pytest.mark.parametrize(
    ("release", "action", "match_vip", "is_spared"),
    [
        ("7.2.4", "deny", "", False),
        ("7.2.3", "deny", "", True),
        ("6.4.15", "deny", "", True),
        ("7.2.4", "deny", "disable", True),
        ("7.4.0", "accept", "", True),
        ("7.10.1", "deny", "", False),
    ],
)
def test_a_deny_heeds_vips_by_default_since_a_release(release: str, action: str, match_vip: str, is_spared: bool) -> None:
    first = policy(1, action=action)
    if match_vip:
        first = first.replace("    next", f"        set match-vip {match_vip}\n    next")
    text = f"#config-version=FGT60F-{release}-FW-build1396-230131:opmode=0:vdom=0:user=a\n{VIPS}{first}{policy(2, target='web')}"
    assert VENDOR.parse(text).policies[0].rules[0].match.conditions == (("match-vip disable",) if is_spared else ())


def test_central_nat_sees_mapped_addresses_and_no_policy_translates() -> None:
    settings = "config system settings\n    set central-nat enable\nend\n"
    config = VENDOR.parse(
        settings
        + VIPS
        + policy(1, action="deny")
        + policy(2, target="web").replace("    next", "        set nat enable\n    next")
    )
    stage = next(stage for stage in config.evaluation if stage.kind is StageKind.FILTER)
    assert stage.destination is Seen.TRANSLATED
    assert all(rule.rule_set == "firewall vip" for rule in config.nat_rules)
    assert config.policies[0].rules[0].match.conditions == ()


def test_vdoms_keep_their_names_apart() -> None:
    address = 'config firewall address\n    edit "net"\n        set subnet {net} 255.255.255.0\n    next\nend\n'
    text = "".join(
        f"config vdom\nedit {name}\n" + address.format(net=net) + policy(source="net") + "end\n"
        for name, net in (("root", "10.0.0.0"), ("guest", "10.9.0.0"))
    )
    config = VENDOR.parse(text)
    assert [(one.name, one.rules[0].match.source.prefixes()) for one in config.policies] == [
        ("root/firewall policy", ("10.0.0.0/24",)),
        ("guest/firewall policy", ("10.9.0.0/24",)),
    ]


def test_unknown_tables_of_rules_are_shown_line_by_line() -> None:
    text = policy().replace("firewall policy", "firewall nextgen-policy")
    config = VENDOR.parse(text)
    assert config.rule_count == 0
    assert len(config.unparsed) >= 8


def test_an_ipsec_policy_is_a_permit_that_covers_nothing() -> None:
    rule = only_rule(policy(action="ipsec").replace("    next", '        set vpntunnel "hq"\n    next'))
    assert rule.action is Action.PERMIT
    assert rule.match.conditions == ("action ipsec", 'vpntunnel "hq"')


SDWAN = """config system sdwan
    config zone
        edit "inet"
        next
    end
    config members
        edit 1
            set interface "wan1"
            set zone "inet"
        next
    end
    config service
        edit 1
            set name "voice"
            set dst "all"
            set src "all"
            set src-negate enable
            set protocol 17
            set start-port 5060
            set end-port 5061
            config sla
                edit "dns"
                    set id 1
                next
            end
        next
        edit 2
            set internet-service enable
            set internet-service-name "Zoom-Meeting"
            set src "all"
        next
    end
end
"""


def test_sd_wan_rules_pick_a_link_and_decide_nothing() -> None:
    config = VENDOR.parse(SDWAN)
    (policy_,) = config.policies
    assert (policy_.name, policy_.purpose, policy_.default) == ("system sdwan service", "route", None)
    voice, zoom = policy_.rules
    assert voice.action is Action.CONTINUE
    assert voice.match.source.is_empty
    assert voice.match.services[0].destination_ports == ((5060, 5061),)
    assert zoom.match.unresolved == ("internet-service Zoom-Meeting",)
    assert [(zone.name, zone.interfaces) for zone in config.zones] == [("inet", ("wan1",))]
    assert config.unparsed == ()


def test_a_deleted_entry_leaves_no_line_behind() -> None:
    config = VENDOR.parse(policy(1).replace("end\n", '    edit 2\n        set srcintf "x"\n    next\n    delete 2\nend\n'))
    assert [rule.name for rule in config.policies[0].rules] == ["1"]
    assert (config.unparsed, config.ignored) == ((), ())


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ('"a b" "c"', ["a b", "c"]),
        ('"a"b "c"', ["ab", "c"]),
        (r'"say \"no\"" x', ['say "no"', "x"]),
        ('x "" y', ["x", "", "y"]),
        ('"a""b"', ["ab"]),
        ("a  b", ["a", "b"]),
    ],
)
def test_values_are_words_and_quoted_texts(raw: str, values: list[str]) -> None:
    assert split(raw) == values


def test_unselect_takes_one_value_of_a_list() -> None:
    text = policy().replace(
        '        set schedule "always"',
        '        append srcintf "lan"\n        unselect srcintf "wan"\n        set schedule "always"',
    )
    assert only_rule(text).match.source_zones == ("lan",)


@pytest.mark.parametrize("end", ["23:59 2024/12", "25:00 2024/12/31", "23:59 2024/13/31", "soon", "23:59 20244/12/31"])
def test_an_end_that_is_no_time_is_shown(end: str) -> None:
    config = VENDOR.parse(f'config firewall schedule onetime\n    edit "x"\n        set end {end}\n    next\nend\n')
    assert config.schedules[0].expires is None
    assert [unparsed.reason for unparsed in config.unparsed] == ["the end is not a time"]


def test_exclusions_inside_exclusions_are_taken_away_inside_out() -> None:
    text = """config firewall address
    edit "wide"
        set subnet 10.0.0.0 255.255.0.0
    next
    edit "half"
        set subnet 10.0.0.0 255.255.255.0
    next
    edit "part"
        set subnet 10.0.0.0 255.255.255.128
    next
end
config firewall addrgrp
    edit "outer"
        set member "wide"
        set exclude enable
        set exclude-member "inner"
    next
    edit "inner"
        set member "half"
        set exclude enable
        set exclude-member "part"
    next
end
"""
    expected = AddressSet.of("10.0.0.0/16").minus(AddressSet.of("10.0.0.128/25"))
    assert only_rule(text + policy(source="outer")).match.source == expected


VIP = """config firewall vip
    edit "v"
        set extip 203.0.113.10
        set mappedip "10.0.0.10"
        set extintf "any"
{more}    next
end
"""


@pytest.mark.parametrize(
    ("more", "source", "unresolved", "services"),
    [
        ("", "0.0.0.0/0", (), None),
        ('        set src-filter "10.0.0.0/8" "192.0.2.1-192.0.2.2"\n', "10.0.0.0/8, 192.0.2.1/32, 192.0.2.2/32", (), None),
        ('        set src-filter "nonsense"\n', "0.0.0.0/0", ("nonsense",), None),
        ("        set portforward enable\n        set protocol icmp\n", "0.0.0.0/0", (), (1, 1)),
        ("        set portforward enable\n        set protocol udp\n        set extport 53\n", "0.0.0.0/0", (), (17, 17)),
    ],
)
def test_a_vip_takes_from_whom_and_what_it_says(
    more: str, source: str, unresolved: tuple[str, ...], services: tuple[int, int] | None
) -> None:
    (rule,) = VENDOR.parse(VIP.format(more=more)).nat_rules
    assert rule.match.source == AddressSet.of(*source.split(", "))
    assert rule.match.unresolved == unresolved
    assert [service.protocols for service in rule.match.services] == [(services,) if services else ((0, 255),)]


def test_central_source_nat_without_addresses_is_for_everybody_of_its_family() -> None:
    rows = '    edit 1\n        set type ipv6\n        set nat-ippool6 "p"\n    next\n'
    rows += "    edit 2\n        set nat disable\n    next\n"
    text = f"config firewall central-snat-map\n{rows}end\n"
    six, four = VENDOR.parse(text).nat_rules
    assert (six.match.source.v4, six.translated_source, six.kind) == ((), "p", NatKind.SOURCE)
    assert (four.match.source.v6, four.translated_source, four.kind) == ((), "", NatKind.EXEMPT)


ROUTES = """config router static
    edit 1
        set sdwan enable
    next
    edit 2
        set dst 10.0.0.0/99
        set device "a"
    next
    edit 3
        set internet-service 65537
        set device "a"
    next
end
"""


def test_routes_to_what_only_the_device_knows_are_shown() -> None:
    config = VENDOR.parse(ROUTES)
    assert [(route.prefix, route.interface) for route in config.routes] == [("0.0.0.0/0", "virtual-wan-link")]
    assert [unparsed.line for unparsed in config.unparsed] == [6, 10]


PER_IP = """config firewall shaper per-ip-shaper
    edit "each"
        set max-bandwidth {rate}
        set diffserv-forward enable
        set diffservcode-forward 101110
    next
end
config firewall shaping-policy
    edit 3
        set srcaddr "all"
        set dstaddr "all"
        set service "ALL"
        set dstintf "wan"
        set per-ip-shaper "each"
    next
end
"""


@pytest.mark.parametrize(("rate", "bps"), [("500", 500_000), ("0", None)])
def test_a_shaper_per_address_marks_and_limits(rate: str, bps: int | None) -> None:
    (found,) = VENDOR.parse(PER_IP.format(rate=rate)).qos_policies
    assert (found.classes[0].policer.rate_bps if found.classes[0].policer else None) == bps
    assert found.classes[0].marker is not None
    assert found.classes[0].marker.dscp == 46
    assert found.classes[0].match.other == ("firewall shaping-policy 3", "per-ip")


def test_a_service_that_is_tied_to_addresses_is_a_condition() -> None:
    row = '    edit "near"\n        set tcp-portrange 80\n        set iprange 10.0.0.1-10.0.0.9\n    next\n'
    text = f"config firewall service custom\n{row}end\n"
    rule = only_rule(text + policy(service="near"))
    assert rule.match.conditions == ("service near iprange 10.0.0.1-10.0.0.9",)
    assert rule.match.unresolved == ()


def test_everything_but_everything_is_nothing() -> None:
    rule = only_rule(policy().replace("    next", "        set service-negate enable\n    next"))
    assert rule.match.services == ()


def test_a_text_that_was_cut_inside_of_an_entry_says_so() -> None:
    whole = policy()
    assert VENDOR.parse(whole).unparsed == ()
    lines = whole.splitlines()
    cut = VENDOR.parse("\n".join(lines[: lines.index("    next")]))
    assert [(one.line, one.reason) for one in cut.unparsed] == [(lines.index("    next"), "the text ends inside of '1'")]
    in_vdom = "\n".join(["config vdom", "edit root", *lines])
    assert VENDOR.parse(in_vdom).unparsed == ()


@pytest.mark.parametrize(
    ("lines", "unparsed"),
    [
        (["system interface", 'unset description "x', "set ip bad", 'set description "a', 'b"'], [6]),
        (["router policy", 'a"b # set type "a b"', "select dst a", 'set type "a', 'b"'], [3, 4, 5]),
        (["firewall policy", 'set comments "a', "set foo 1", 'b"', 'set comments "z"', "set foo 2"], [7]),
        (["firewall policy", "append foo\tbar"], [3]),
        (["firewall policy", "set foo a", "unset foo", "set foo b"], [5]),
        (["firewall policy", 'unset comments "a', 'set bar"'], []),
    ],
)
def test_lines_of_a_setting_are_those_that_set_it(lines: list[str], unparsed: list[int]) -> None:
    table, *settings = lines
    text = "\n".join([f"config {table}", "edit 1", *settings, "next", "end"])
    assert [one.line for one in VENDOR.parse(text).unparsed] == unparsed


def test_what_is_appended_stays_in_its_place() -> None:
    text = "config firewall policy\nedit 1\nset srcaddr all\nset dstaddr all\nappend srcaddr b\nnext\nend"
    assert only_rule(text).text == "srcaddr all b; dstaddr all"
