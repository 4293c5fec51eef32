"""Junos: the smallest texts that decide a field: terms, code points, groups, NAT, policies, interfaces, commands and braces."""

from __future__ import annotations

import pytest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.nat import NatRule
from policyhub.domain.rules import Action, Match, Rule
from policyhub.vendors.juniper_junos import VENDOR
from policyhub.vendors.juniper_junos.groups import members, pattern
from policyhub.vendors.juniper_junos.reader import split_words
from tests.vendors.corners import each_odd, reasons, whole
from tests.vendors.model_json import readable, service

TERM = "set firewall family inet filter F term t"


def parse(*lines: str) -> DeviceConfig:
    return whole(VENDOR, "\n".join(lines) + "\n")


def odd(*lines: str) -> list[str]:
    return reasons(VENDOR, "\n".join(lines) + "\n")


def term(*lines: str, family: str = "inet", before: tuple[str, ...] = ()) -> Match:
    words = f"set firewall family {family} filter F term t from "
    policy = parse(*before, *(words + line for line in lines)).policy("F")
    assert policy is not None
    return policy.rules[0].match


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["protocol tcp"], ["tcp"]), (["protocol 1-3"], ["icmp", "proto 2", "proto 3"]), (["protocol 10-20"], ["proto 10-20"]),
        (["protocol 10-14"], ["proto 10-14"]), (["protocol [ tcp udp ]", "destination-port 53"], ["tcp 53", "udp 53"]),
        (["protocol-except 6-255"], ["proto 0-5"]), (["protocol 255"], ["proto 255"]),
        (["protocol tcp", "destination-port-except 1-65535"], ["tcp 0"]), (["protocol tcp", "source-port 22"], ["tcp from 22"]),
        (["protocol tcp", "destination-port [ 20-25 23-30 ]"], ["tcp 20-30"]), (["protocol icmp", "icmp-type 8"], ["icmp 8"]),
        (["protocol icmp", "icmp-type [ 3-4 8 ]"], ["icmp 3-4,8"]), (["protocol icmp", "icmp-type-except 1-255"], ["icmp 0"]),
        (["protocol icmp", "icmp-type 3", "icmp-code [ 1 3 ]"], ["icmp 3:1,3:3"]),
        (["protocol icmp", "icmp-type 3", "icmp-code-except 1-255"], ["icmp 3:0"]),
    ],
)  # fmt: skip
def test_protocols_and_ports_of_a_term(lines: list[str], expected: list[str]) -> None:
    assert [service(one) for one in term(*lines).services] == expected


@pytest.mark.parametrize(
    ("line", "dscp"),
    [
        ("dscp ef", {46}), ("dscp 101110", {46}), ("dscp 0x2e", {46}), ("dscp 0x3F", {63}), ("dscp nc1", {48}), ("dscp 0", {0}),
        ("dscp mine", {7}), ("dscp-except 0", set(range(1, 64))),
        ("precedence critical-ecp", set(range(40, 48))),
        ("precedence 7", set(range(56, 64))), ("precedence 0", set(range(8))),
    ],
)  # fmt: skip
def test_marks_of_a_term(line: str, dscp: set[int]) -> None:
    alias = ("set class-of-service code-point-aliases dscp mine 000111",)
    assert term(line, before=alias).dscp == dscp


@pytest.mark.parametrize(
    "line", ["dscp 64", "dscp 0x40", "dscp 0xzz", "dscp 10111", "precedence 8", "precedence odd", "dscp-except 1-1"]
)
def test_marks_that_do_not_exist_are_told_and_a_condition(line: str) -> None:
    text = f"{TERM} from {line}"
    assert [reason.split()[0] for reason in odd(text)] == ["1"]
    (found,) = VENDOR.parse(text + "\n").policies[0].rules
    assert (found.match.dscp, found.match.conditions) == (None, (line,))


def test_the_longest_prefix_of_lists_and_terms_decides() -> None:
    lists = (
        "set policy-options prefix-list BAD 10.0.0.0/24", "set policy-options prefix-list BAD 2001:db8::/64",
        "set policy-options prefix-list ODD 10.7.0.0/16",
    )  # fmt: skip
    assert str(term("source-prefix-list BAD except", before=lists).source) == str(
        AddressSet.of("0.0.0.0/0").minus(AddressSet.of("10.0.0.0/24"))
    )
    mixed = term("source-address 10.0.0.0/16", "source-prefix-list BAD except", before=lists)
    assert mixed.source == AddressSet.of("10.0.0.0/16").minus(AddressSet.of("10.0.0.0/24"))
    inner = term("source-address 10.0.0.0/25", "source-prefix-list BAD except", before=lists)
    assert str(inner.source) == "10.0.0.0/25"
    six = term("source-address 2001:db8::/32", "source-prefix-list BAD except", before=lists, family="inet6")
    assert six.source == AddressSet.of("2001:db8::/32").minus(AddressSet.of("2001:db8::/64"))
    assert term("source-prefix-list NOBODY").unresolved == ("NOBODY",)


def test_actions_and_lines_of_a_term() -> None:
    config = parse(
        f"{TERM} from protocol tcp", f"{TERM} then count C", f"{TERM} then log",
         "set firewall family inet filter F term u then reject",
        "set firewall family inet filter F term v then next term", "set firewall family inet filter F term w filter G",
        "set firewall family inet filter G term a then syslog", "set firewall family inet filter G term b then discard",
        "set firewall filter H then accept", "deactivate firewall family inet filter F term u",
        "set interfaces ge-0/0/0 unit 0 family inet filter input F",
         "set interfaces lo0 unit 0 family inet filter input-list [ F G ]",
        "set interfaces ge-0/0/1 unit 0 family inet filter output H",
    )  # fmt: skip
    found = {policy.name: policy for policy in config.policies}
    told = [(r.name, r.action, r.logged, r.hit_key, r.enabled, r.target) for r in found["F"].rules]
    assert told == [
        ("t", Action.PERMIT, True, "F C", True, ""), ("u", Action.DENY, False, "", False, ""),
        ("v", Action.CONTINUE, False, "", True, ""),
        ("w", Action.CONTINUE, False, "", True, "G"),
    ]  # fmt: skip
    assert [(r.action, r.logged) for r in found["G"].rules] == [(Action.PERMIT, True), (Action.DENY, False)]
    assert [(b.interface, b.direction) for b in found["F"].bindings] == [("ge-0/0/0.0", "in")]
    assert [(b.interface, b.direction) for b in found["F + G"].bindings] == [("lo0.0", "local")]
    assert [r.name for r in found["F + G"].rules] == ["F t", "F u", "F v", "F w", "G a", "G b"]
    assert ([r.name for r in found["H"].rules], [b.direction for b in found["H"].bindings]) == (["H"], ["out"])
    assert {policy.default for policy in config.policies} == {Action.DENY}


POLICY = "set security policies from-zone a to-zone b policy p"


def rule(*lines: str, before: tuple[str, ...] = ()) -> Rule:
    found = parse(*before, *(f"{POLICY} {line}" for line in ("match source-address any", *lines))).policies
    return next(policy for policy in found if policy.rules).rules[0]


def test_what_a_policy_does_and_asks() -> None:
    full = rule(
        "match destination-address any", "match application junos-https", "then permit firewall-authentication web-redirect",
        "then log session-close", "scheduler-name night", "description it",
    )  # fmt: skip
    assert (full.action, full.logged, full.schedule, full.comment) == (Action.PERMIT, True, "night", "it")
    assert full.match.conditions == ("firewall-authentication web-redirect", "scheduler-name night")
    assert full.references == ("junos-https", "night") and readable(full.match.services) == ["tcp 443"]
    assert (full.match.source_zones, full.match.destination_zones, full.match.destination.is_any) == (("a",), ("b",), True)
    denied = rule("match application [ any junos-http ]", "then reject")
    assert (denied.action, denied.match.services[0].is_any, denied.references) == (Action.DENY, True, ("junos-http",))
    assert rule("match application odd", "then deny").match.unresolved == ("odd",)
    assert rule("match source-identity any", "then permit").match.conditions == ()
    assert rule("match source-identity ann", "then permit").match.conditions == ("source-identity ann",)


def test_books_of_zones_and_what_is_excluded() -> None:
    book = (
        "set security zones security-zone a address-book address h 10.0.0.1/32",
         "set security address-book global address h 10.0.0.2/32",
        "set security address-book global address r range-address 10.0.0.4 to 10.0.0.5",
        "set security address-book global address d dns-name x.example",
         "set security address-book global address w wildcard-address 10.0.0.0/255.0.255.255",
        "set security address-book global address-set s address r",
    )  # fmt: skip
    own = rule("match destination-address h", "match source-address h", "then permit", before=book)
    assert own.match.source.is_any and str(own.match.destination) == "10.0.0.2/32"
    assert own.references == ("a/h", "h")
    excluded = rule("match destination-address s", "match destination-address-excluded", "then permit", before=book).match
    assert not excluded.destination.is_any and excluded.destination.overlaps(AddressSet.of("10.0.0.3"))
    assert not excluded.destination.overlaps(AddressSet.of("10.0.0.4/31"))
    assert rule("match destination-address d", "then permit", before=book).match.unresolved == ("d",)
    assert rule("match destination-address w", "then permit", before=book).match.destination.overlaps(AddressSet.of("10.9.0.0"))


def nat(kind: str, *lines: str, before: tuple[str, ...] = ()) -> NatRule:
    head = f"set security nat {kind} rule-set s"
    words = (f"{head} from zone a", f"{head} to zone b") if kind == "source" else (f"{head} from zone a",)
    (found,) = parse(*before, *words, *(f"{head} rule r {line}" for line in lines)).nat_rules
    return found


def test_what_a_nat_rule_turns_into_what() -> None:
    pool = ("set security nat source pool p address 203.0.113.1/32 to 203.0.113.9/32",
     "set security nat destination pool d address 10.0.0.5/32 port 8080")  # fmt: skip
    first = nat("source", "match source-address 10.0.0.0/8", "then source-nat pool p", before=pool[:1])
    assert (first.kind.value, first.translated_source, first.references, first.hit_key) == ("source", "p", ("p",), "source s r")
    assert first.notes == ("pool p: 203.0.113.1/32 to 203.0.113.9/32",)
    assert (first.match.source_zones, first.match.destination_zones) == (("a",), ("b",))
    second = nat("destination", "match destination-address 203.0.113.1/32", "then destination-nat pool d", before=pool[1:])
    assert (second.translated_destination, second.translated_service) == ("d", "8080")
    assert second.notes == ("pool d: 10.0.0.5/32 port 8080",)
    assert nat("source", "match source-address 0.0.0.0/0", "then source-nat interface").translated_source == "interface"
    off = nat("source", "match source-address 10.0.0.0/8", "then source-nat off")
    assert (off.kind.value, off.translated_source) == ("exempt", "")
    static = nat(
        "static", "match destination-address 203.0.113.5/32", "match destination-port 80 to 90",
        "then static-nat prefix 10.0.0.5/32 mapped-port 8080 to 8090",
    )  # fmt: skip
    assert (static.kind.value, static.translated_destination, static.translated_service) == ("static", "10.0.0.5/32", "8080-8090")
    assert readable(static.match.services) == ["tcp 80-90", "udp 80-90"]
    plain = nat("destination", "match destination-address 203.0.113.1/32", "match protocol tcp", "then destination-nat off")
    assert readable(plain.match.services) == ["tcp"] and plain.enabled
    known = nat("source", "match source-address-name h", "then source-nat interface",
     before=("set security address-book global address h 10.0.0.1/32",))  # fmt: skip
    assert str(known.match.source) == "10.0.0.1/32" and known.references == ("h",)


def test_a_bound_interface_is_a_condition_and_a_dead_rule_set_disables() -> None:
    config = parse(
        "set security nat source rule-set s from interface ge-0/0/0.0", "set security nat source rule-set s to zone b",
        "set security nat source rule-set s rule r then source-nat interface", "deactivate security nat source rule-set s",
    )  # fmt: skip
    (found,) = config.nat_rules
    assert (found.match.conditions, found.enabled) == (("from interface ge-0/0/0.0",), False)


@pytest.mark.parametrize(
    ("text", "words", "others"),
    [
        ("<ge-*>", ["ge-0/0/0"], ["xe-0/0/0"]), ("<em[0,1]>", ["em0", "em1"], ["em2"]), ("<em[!0]>", ["em1"], ["em0"]),
        ("<ge-0/0/?>", ["ge-0/0/7"], ["ge-0/0/10"]), ("<*>", ["", "any"], []), ("<[>", ["["], ["a"]), ("<a.b>", ["a.b"], ["axb"]),
    ],
)  # fmt: skip
def test_patterns_of_groups(text: str, words: list[str], others: list[str]) -> None:
    assert [word for word in [*words, *others] if pattern(text).fullmatch(word)] == words


def test_members_of_interface_ranges() -> None:
    known = ["ge-0/0/0", "ge-0/0/1", "xe-0/0/0"]
    assert members(["ge-0/0/[0-2]"], known) == ["ge-0/0/0", "ge-0/0/1", "ge-0/0/2"]
    assert members(["ge-*", "ae0"], known) == ["ge-0/0/0", "ge-0/0/1", "ae0"]
    assert len(members(["ge-0/0/[0-9999]"], known)) == 512


def test_what_is_inherited_from_groups() -> None:
    config = parse(
        "set groups G interfaces <ge-*> mtu 9000", "set groups G interfaces <ge-*> unit <*> family inet filter input F",
        "set groups G system host-name inherited", "set groups H interfaces ge-0/0/1 description mine",
         "set apply-groups [ G H ]",
        "set interfaces ge-0/0/0 unit 0 family inet address 10.0.0.1/24", "set interfaces ge-0/0/1 mtu 1500",
        "set interfaces ge-0/0/1 unit 0 family inet address 10.1.0.1/24", "set interfaces ge-0/0/1 apply-groups-except H",
        "set interfaces xe-0/0/0 unit 0 family inet address 10.2.0.1/24", f"{TERM} then accept",
    )  # fmt: skip
    told = {one.name: (one.mtu, one.description) for one in config.interfaces}
    assert told["ge-0/0/0"] == (9000, "") and told["xe-0/0/0"] == (None, "")
    assert told["ge-0/0/1"] == (1500, "")
    assert config.hostname == "inherited"
    assert sorted(b.interface for b in config.policies[0].bindings) == ["ge-0/0/0.0", "ge-0/0/1.0"]


def test_lines_of_interfaces_and_routes() -> None:
    config = parse(
        "set interfaces ge-0/0/0 speed 1g", "set interfaces ge-0/0/0 mtu 9192", "set interfaces ge-0/0/0 disable",
        "set interfaces ge-0/0/0 unit 0 family inet address 10.0.0.1/24", "set interfaces ge-0/0/0 unit 0 family inet mtu 1500",
        "set interfaces ge-0/0/0 unit 0 family inet6 address 2001:db8::1/64", "set interfaces ge-0/0/1 speed auto",
        "set interfaces ge-0/0/1 ether-options speed 10g", "set interfaces ge-0/0/1 unit 7 disable",
         "set interfaces ge-0/0/1 mtu 9999999",
        "set routing-instances M interface ge-0/0/1.7", "set security zones security-zone a interfaces ge-0/0/0.0",
        "set routing-options static route 10.0.0.0/8 next-hop 192.0.2.1",
         "set routing-options static route 10.0.0.0/8 preference 7",
        "set routing-options static route 0.0.0.0/0 qualified-next-hop 192.0.2.2 preference 9",
        "set routing-options static route 0.0.0.0/0 next-hop ge-0/0/0.0", "set routing-options static route 10.9.0.0/16 discard",
        "set routing-instances M routing-options static route 10.8.0.0/16 next-table inet.0",
    )  # fmt: skip
    told = {one.name: (one.speed_bps, one.mtu, one.enabled, one.vrf, one.zone, one.addresses) for one in config.interfaces}
    assert told == {
        "ge-0/0/0": (10**9, 9192, False, "", "", ()),
        "ge-0/0/0.0": (None, 1500, False, "", "a", ("10.0.0.1/24", "2001:db8::1/64")),
        "ge-0/0/1": (10**10, None, True, "", "", ()),
        "ge-0/0/1.7": (None, None, False, "M", "", ()),
    }
    assert [(r.prefix, r.next_hop, r.interface, r.vrf, r.distance, r.discard) for r in config.routes] == [
        ("10.0.0.0/8", "192.0.2.1", "", "", 7, False), ("0.0.0.0/0", "", "ge-0/0/0.0", "", None, False),
        ("0.0.0.0/0", "192.0.2.2", "", "", 9, False), ("10.9.0.0/16", "", "", "", None, True),
        ("10.8.0.0/16", "inet.0", "", "M", None, False),
    ]  # fmt: skip


def test_queues_and_pauses_of_classes() -> None:
    config = parse(
        "set class-of-service forwarding-classes class A queue-num 3 no-loss pfc-priority 3",
        "set class-of-service forwarding-classes class B queue-num 4", "set class-of-service forwarding-classes queue 5 C",
        "set class-of-service classifiers dscp D forwarding-class A loss-priority low code-points [ 011010 101110 ]",
        "set class-of-service classifiers ieee-802.1 E import default",
         "set class-of-service classifiers ieee-802.1 E forwarding-class B loss-priority high code-points [ 011 ef ]",
        "set class-of-service rewrite-rules dscp R forwarding-class C loss-priority low code-point ef",
        "set class-of-service interfaces ge-0/0/0 unit 0 classifiers dscp D",
         "set class-of-service interfaces ge-0/0/0 unit 0 rewrite-rules dscp R",
        "set class-of-service host-outbound-traffic forwarding-class C",
         "set class-of-service host-outbound-traffic dscp-code-point 110000",
        "set class-of-service host-outbound-traffic ieee-802.1 default 7",
    )  # fmt: skip
    found = {policy.name: policy for policy in config.qos_policies}
    (taken,) = found["classifier dscp D"].classes
    assert (taken.name, taken.match.dscp, taken.marker and taken.marker.queue) == ("A low", {26, 46}, 3)
    assert [(a.interface, a.direction) for a in found["classifier dscp D"].attachments] == [("ge-0/0/0.0", "in")]
    base, bits = found["classifier ieee-802.1 E"].classes
    assert (base.match.other, bits.match.pcp, bits.marker and bits.marker.queue) == (("import default",), {2, 3}, 4)
    (mark,) = found["rewrite dscp R"].classes
    assert mark.marker and (mark.marker.dscp, mark.marker.pcp) == (46, None)
    assert [(a.interface, a.direction) for a in found["rewrite dscp R"].attachments] == [("ge-0/0/0.0", "out")]
    (host,) = found["host-outbound-traffic"].classes
    assert host.marker and (host.marker.dscp, host.marker.pcp, host.marker.queue) == (48, 7, 5)
    assert {(m.name, m.kind, m.entries) for m in config.qos_maps} >= {
        ("forwarding-classes", "pfc-priority-to-queue", ((3, 3),)), ("R", "class-to-dscp", ((5, 46),)),
    }  # fmt: skip


def test_words_of_commands() -> None:
    assert split_words('set a "b c" [ d e ] ## gone') == ["set", "a", "b c", "[", "d", "e", "]"]
    assert split_words("set a b") == ["set", "a", "b"]


BRACES = "system {\n    host-name R;\n}\ninterfaces {\n    ge-0/0/0 {\n        mtu 9000;\n"
BRACES += "        unit 0 { family inet { address 10.0.0.1/24; } }\n    }\n}\n"


@pytest.mark.parametrize(
    "text",
    [
        BRACES, BRACES.replace("mtu 9000;", "mtu 9000; ## SECRET-DATA"), BRACES.replace("mtu 9000;", "/* why */ mtu 9000;"),
        BRACES.replace("        mtu", "        /* a\n b */ mtu"), BRACES.replace("mtu 9000;", "mtu 9000"),
         "# a comment\n" + BRACES,
        "## Last changed: today\n" + BRACES, "[edit]\n" + BRACES, "ann@R> show configuration\n" + BRACES, "{master:0}\n" + BRACES,
        BRACES.replace("    }\n}\n", "    delete: ge-0/0/9;\n    }\n}\n"),
    ],
)  # fmt: skip
def test_braces_with_what_stands_between_them(text: str) -> None:
    config = parse(*text.rstrip("\n").split("\n"))
    assert config.hostname == "R"
    assert [(one.name, one.mtu, one.addresses) for one in config.interfaces] == [
        ("ge-0/0/0", 9000, ()), ("ge-0/0/0.0", None, ("10.0.0.1/24",)),
    ]  # fmt: skip


def test_commands_lead_and_change() -> None:
    config = VENDOR.parse(
        "edit interfaces ge-0/0/0\nset mtu 9000\nup\nset ge-0/0/1 mtu 1500\ntop set system host-name R\n"
        "set interfaces ge-0/0/2 mtu 1400\n"
        "delete interfaces ge-0/0/2\nrename interfaces ge-0/0/1 to ge-0/0/3\nrename interfaces ge-0/0/7 to ge-0/0/8\n"
        "set\ndelete\n"
        'activate interfaces ge-0/0/9\nannotate interfaces "x"\n'
    )
    assert (config.hostname, [(one.name, one.mtu) for one in config.interfaces]) == (
        "R",
        [("ge-0/0/0", 9000), ("ge-0/0/3", 1500)],
    )
    assert [f"{one.line} {one.reason}" for one in config.unparsed] == [
        "9 there is no such statement above", "10 the line ends where a statement is expected", "11 it deletes everything",
        "12 there is no such statement above",
    ]  # fmt: skip


ODD = [
    ("set security nat odd rule-set s from zone a", "1 this kind of NAT is not modelled"),
    ("set security nat source odd", "1 not understood in NAT"),
    ("set security nat source rule-set s rule r match source-address 10.0.0.0/8", "1 the rule has no translation"),
    (
        "set security nat source rule-set s rule r match source-address odd\n"
        "set security nat source rule-set s rule r then source-nat off",
        "1 not a prefix",
    ),
    ("set security policies odd", "1 not understood in security policies"),
    ("set security policies from-zone a to-zone b odd", "1 not understood in a zone pair"),
    (f"{POLICY} match source-address any", "1 the policy has no action"),
    ("set security address-book global address a 10.0.0.300/32", "1 not an address"),
    (
        "set applications application a term t protocol tcp\nset applications application a odd 1",
        "2 not understood in an application with terms",
    ),
    ("set applications application a odd 1", "1 'odd' is not understood in an application"),
    ("set applications application a protocol icmp icmp-type 300", "1 '300' is not an ICMP type"),
    ("set applications application a protocol icmp icmp-code 256", "1 '256' is not an ICMP code"),
    ("set applications application a protocol tcp destination-port 9-7", "1 '9-7' is not a range of ports"),
    ("set policy-options prefix-list L odd", "1 not a prefix"),
    ("set firewall odd 1", "1 not understood in firewall"),
    ("set firewall family inet filter F odd 1", "1 not understood in a filter"),
    (f"{TERM} odd 1", "1 not understood in a term"),
    (f"{TERM} then odd", "1 not understood in the actions of a term"),
    (f"{TERM} from source-address odd", "1 'odd' is not a prefix"),
    ("set interfaces ge-0/0/0 unit 0 family inet filter odd F", "1 not understood where filters are bound"),
    (f"set interfaces ge-0/0/0 unit 0 family inet filter input NOBODY\n{TERM} then accept", "1 there is no filter NOBODY"),
    ("set interfaces ge-0/0/0 unit 0 family inet address odd", "1 not an address"),
    ("set class-of-service forwarding-classes class A queue-num odd", "1 not a queue number"),
    ("set class-of-service interfaces ge-0/0/0 odd 1", "1 not understood in class-of-service interfaces"),
    ("set class-of-service interfaces ge-0/0/0 unit 0 classifiers odd X", "1 not a kind of code points"),
    ("set class-of-service odd 1", "1 not understood in class of service"),
    (
        "set class-of-service classifiers dscp D forwarding-class A loss-priority low code-points odd",
        "1 'odd' is not a code point",
    ),
    ("set class-of-service host-outbound-traffic dscp-code-point odd", "1 'odd' is not a code point"),
    ("set class-of-service code-point-aliases dscp mine odd", "1 not an alias of a code point"),
    ("set apply-groups NOBODY", "1 there is no such group"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert odd(*text.split("\n")) == [told]
