"""IOS: the smallest texts that decide a field: translations, queues and maps of Catalysts, groups, what a script removes."""

from __future__ import annotations

from functools import partial

import pytest

from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.corners import each_odd, reasons, whole
from tests.vendors.model_json import readable

VENDOR = REGISTRY.get("cisco_ios")
parse = partial(whole, VENDOR)
PORT = "interface GigabitEthernet1/0/1\n "


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("inside source static 10.0.0.5 203.0.113.5", ("static", "10.0.0.5/32", [], "203.0.113.5", "", ())),
        ("inside source static tcp 10.0.0.5 80 203.0.113.5 8080 extendable",
         ("static", "10.0.0.5/32", ["tcp from 80"], "203.0.113.5", "tcp 8080", ("extendable",))),
        ("inside source static udp 10.0.0.5 53 interface Gi0/0 53", ("static", "10.0.0.5/32", ["udp from 53"], "interface",
         "udp 53", ("interface Gi0/0",))),
        ("inside source static esp 10.0.0.5 interface Gi0/0", ("static", "10.0.0.5/32", ["proto 50"], "interface", "",
         ("interface Gi0/0",))),
        ("inside source static network 10.0.0.0 203.0.113.0 /24", ("static", "10.0.0.0/24", [], "203.0.113.0/24", "", ())),
        ("inside source static network 10.0.0.0 203.0.113.0 255.255.255.0",
         ("static", "10.0.0.0/24", [], "203.0.113.0 255.255.255.0", "", ())),
        ("inside source list A pool P overload", ("source", "any4", [], "P", "", ("overload",))),
        ("inside source list A interface Gi0/0 overload", ("source", "any4", [], "interface", "", ("interface Gi0/0",
         "overload"))),
        ("inside source list A pool P egress-interface Gi0/1 vrf M", ("source", "any4", [], "P", "", ("egress-interface Gi0/1",
         "vrf M"))),
        ("source list A pool P", ("source", "any4", [], "P", "", ())),
    ],
)  # fmt: skip
def test_what_a_translation_does(line: str, expected: tuple[object, ...]) -> None:
    (found,) = parse(f"ip nat {line}\n").nat_rules
    services = readable(found.match).get("services", [])
    told = (
        found.kind.value,
        readable(found.match)["source"],
        services,
        found.translated_source,
        found.translated_service,
        found.notes,
    )
    assert told == expected


def test_a_list_that_picks_what_is_translated_is_no_filter() -> None:
    text = "ip access-list standard A\n permit 10.0.0.0 0.0.0.255\nip nat inside destination list A pool P\n"
    config = parse(text)
    (found,) = config.nat_rules
    assert (found.kind.value, found.translated_destination, found.match.conditions) == ("destination", "P", ("access-list A",))
    assert (config.policies[0].purpose, found.references) == ("match", ("A", "P"))
    by_map = parse("ip nat inside source route-map R pool P\n").nat_rules[0]
    assert (by_map.match.conditions, by_map.references) == (("route-map R",), ("R", "P"))


@pytest.mark.parametrize(
    "options", ["netmask 255.255.255.0", "prefix-length 32 type rotary", "prefix-length 24 add-route arp-ping"]
)
def test_options_of_pools(options: str) -> None:
    (pool,) = parse(f"ip nat pool P 203.0.113.1 203.0.113.2 {options}\n").addresses
    assert str(pool.addresses) == "203.0.113.1/32, 203.0.113.2/32"


@pytest.mark.parametrize(
    ("number", "purpose_or_reason"),
    [("1", "standard"), ("99", "standard"), ("1300", "standard"), ("1999", "standard"), ("100", "extended"), ("199", "extended"),
     ("2000", "extended"), ("2699", "extended"), ("200", ""), ("1299", ""), ("2700", ""), ("0", "")],
)  # fmt: skip
def test_numbers_of_lists(number: str, purpose_or_reason: str) -> None:
    rest = "10.0.0.0 0.0.0.255" if purpose_or_reason == "standard" else "tcp any any eq 80"
    config = VENDOR.parse(f"access-list {number} permit {rest}\n")
    if purpose_or_reason:
        assert not config.unparsed and config.policies[0].name == number
        assert config.policies[0].rules[0].match.services[0].is_any == (purpose_or_reason == "standard")
    else:
        assert [one.reason for one in config.unparsed] == ["access lists of this number are not modelled"]


def test_queues_of_a_catalyst() -> None:
    config = parse(
        f"mls qos\nmls qos srr-queue output dscp-map queue 1 threshold 3 46\n"
        f"mls qos srr-queue output cos-map queue 2 threshold 1 3 4\n"
        f"{PORT}srr-queue bandwidth share 1 30 35 5\n srr-queue bandwidth shape 25 0 0 0\n"
        f" srr-queue bandwidth limit 90\n priority-queue out\n"
        "interface GigabitEthernet1/0/2\n wrr-queue bandwidth 20 100 200\n wrr-queue cos-map 1 1 0 1\n wrr-queue cos-map 3 5\n"
    )
    found = {policy.name: {made.name: made for made in policy.classes} for policy in config.qos_policies}
    first = found["queues GigabitEthernet1/0/1"]
    weights = [first[f"queue {n}"].queue.remaining_weight for n in (2, 3, 4) if first[f"queue {n}"].queue]
    assert weights == [30, 35, 5]
    assert first["queue 1"].shaper and first["queue 1"].shaper.percent == 4 and first["queue 2"].shaper is None
    assert (first["queue 1"].match.dscp, first["queue 2"].match.pcp) == ({46}, {3, 4})
    assert first["port"].shaper and first["port"].shaper.percent == 90
    second = found["queues GigabitEthernet1/0/2"]
    assert [second[f"queue {n}"].queue.remaining_weight for n in (1, 2, 3) if second[f"queue {n}"].queue] == [20, 100, 200]
    assert (second["queue 1"].match.pcp, second["queue 3"].match.pcp) == ({0, 1}, {5})


def test_maps_of_marks() -> None:
    config = parse(
        "mls qos map cos-dscp 0 8 16 24 32 46 48 56\nmls qos map policed-dscp 46 34 to 0\nmls qos map policed-dscp 26 to 8\n"
        "mls qos map dscp-mutation M 10 to af41\nmls qos map dscp-cos 40 46 to 5\nmls qos map dscp-cos 63 to 7\n"
        f"mls qos\n{PORT}mls qos trust dscp\ninterface GigabitEthernet1/0/2\n mls qos trust cos\n"
        "interface GigabitEthernet1/0/3\n mls qos trust\ninterface GigabitEthernet1/0/4\n no mls qos trust\n"
        "interface GigabitEthernet1/0/5\n"
    )
    told = {one.name: (one.kind, one.entries) for one in config.qos_maps}
    assert told["cos-dscp"] == ("class-to-dscp", ((0, 0), (1, 8), (2, 16), (3, 24), (4, 32), (5, 46), (6, 48), (7, 56)))
    assert told["policed-dscp"] == ("dscp-to-dscp", ((46, 0), (34, 0), (26, 8)))
    assert told["M"] == ("dscp-to-dscp", ((10, 34),))
    levels = dict(config.dscp_maps[0].level)
    assert (levels[46], levels[63], levels[40]) == (5, 7, 5)
    assert [(trust.interface[-1], trust.mode) for trust in config.trusts] == [
        ("1", "dscp"), ("2", "pcp"), ("3", "dscp"), ("4", "none"), ("5", "none"),
    ]  # fmt: skip


def test_members_of_groups() -> None:
    config = parse(
        "object-group network N\n host 10.0.0.1\n 10.1.0.0 255.255.0.0\n range 10.0.0.8 10.0.0.9\nobject-group network A\n any\n"
        "object-group service S\n tcp-udp eq 53\n tcp source gt 1023 eq 443\n tcp 8080\n icmp echo\n ospf\n"
        "ip access-list extended L\n permit object-group S object-group N object-group A\n"
    )
    (found,) = config.policies[0].rules
    assert str(found.match.source) == "10.0.0.1/32, 10.0.0.8/31, 10.1.0.0/16"
    assert set(readable(found.match.services)) == {
        "tcp+udp 53", "tcp 8080", "tcp from 1024-65535 to 443", "icmp 8", "proto 89",
    }  # fmt: skip
    assert [(one.name, one.members) for one in config.groups if one.name == "N"] == [
        ("N", ("host 10.0.0.1", "10.1.0.0 255.255.0.0", "range 10.0.0.8 10.0.0.9")),
    ]


@pytest.mark.parametrize(
    ("before", "line", "is_told"),
    [
        ("", "no ip access-list extended A", False),
        ("ip access-list extended A\n permit ip any any\n", "no ip access-list extended A", True),
        ("", "no object-group network N", False), ("object-group network N\n host 10.0.0.1\n", "no object-group network N", True),
        ("object-group network N\n host 10.0.0.1\n", "no object-group service N", False),
    ],
)  # fmt: skip
def test_what_a_script_takes_away_in_front_of_what_it_writes(before: str, line: str, is_told: bool) -> None:
    assert [one.text for one in VENDOR.parse(f"{before}{line}\n").unparsed] == ([line] if is_told else [])


ODD = [
    ("ip nat inside source odd", "1 static, list or route-map is expected"),
    ("ip nat inside source static odd 203.0.113.5", "1 'odd' is not an address"),
    ("ip nat inside source static 10.0.0.5 odd", "1 'odd' is not an address"),
    ("ip nat inside source list A pool P odd", "1 'odd' is not understood in a translation"),
    ("ip nat pool P 203.0.113.1 203.0.113.2 odd", "1 'odd' is not understood in a pool"),
    ("ip nat pool P 203.0.113.1 203.0.113.2 prefix-length 33", "1 '33' is not a prefix length (1..32)"),
    ("mls qos srr-queue output dscp-map odd", "1 queue is expected"),
    ("mls qos srr-queue output cos-map queue 5 1", "1 '5' is not a queue (1..4)"),
    ("mls qos srr-queue output cos-map queue 1 8", "1 '8' is not a mark (0..7)"),
    ("mls qos srr-queue output dscp-map queue 1 64", "1 '64' is not a mark (0..63)"),
    ("mls qos map cos-dscp 0 8", "1 eight marks are expected"),
    ("mls qos map odd 1", "1 map 'odd' is not modelled"),
    ("mls qos map dscp-mutation M odd to 1", "1 'odd' is not a DSCP"),
    ("mls qos map dscp-cos 46 to 8", "1 '8' is not a class of service (0..7)"),
    ("mls qos odd", "1 mls qos 'odd' is not modelled"),
    (f"{PORT}srr-queue bandwidth odd", "2 share, shape or limit is expected"),
    (f"{PORT}srr-queue bandwidth limit 9", "2 '9' is not a percentage (10..100)"),
    (f"{PORT}wrr-queue cos-map 1", "2 a queue and classes of service are expected"),
    (f"{PORT}mls qos trust odd", "2 'odd' is no mark that can be trusted"),
    ("object-group network N\n odd 255.0.0.0", "2 'odd' is not an address"),
    ("object-group network N\n host odd", "2 'host' is not an address"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert reasons(VENDOR, text + "\n") == [told]


@pytest.mark.parametrize(
    ("default", "entries"),
    [
        ("ignore", ((3, 26), (9, 5))),
        ("copy", ((0, 0), (1, 1), (2, 2), (3, 26), (4, 4), (5, 5), (6, 6), (7, 7), (9, 5))),
        ("8", ((0, 8), (1, 8), (2, 8), (3, 26), (4, 8), (5, 8), (6, 8), (7, 8), (9, 5))),
        ("64", ((3, 26), (9, 5))),  # no such mark
    ],
)
def test_a_table_map_says_what_becomes_of_values_that_it_does_not_name(
    default: str, entries: tuple[tuple[int, int], ...]
) -> None:
    table = f"table-map T\n map from 3 to 26\n map from 9 to 5\n default {default}\n"
    policy = "policy-map P\n class class-default\n  set dscp cos table T\n"
    assert [(made.kind, made.entries) for made in parse(table + policy).qos_maps] == [("pcp-to-dscp", entries)]
    assert [(made.kind, made.entries) for made in parse(table).qos_maps] == [("unused", ((3, 26), (9, 5)))]


def test_a_second_bucket_is_a_note() -> None:
    port = "interface Serial0/0\n rate-limit input {} conform-action transmit exceed-action drop\n"
    for bursts, is_noted in (("64000 8000 8000", False), ("64000 8000 16000", True), ("access-group 9 64000 8000 8000", False)):
        (made,) = parse(port.format(bursts)).qos_policies[0].classes
        assert made.policer and (made.policer.burst_bytes, bool(made.notes)) == (8000, is_noted)
