"""Spellings and corners of iptables, by iptables(8), iptables-extensions(8) or the output of a release that printed it so."""

from __future__ import annotations

import pytest

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Rule
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.model_json import addresses, service

VENDOR = REGISTRY.get("linux_iptables")
HEAD = " pkts bytes target     prot opt in     out     source               destination         \n"
EMPTY = f"(policy ACCEPT 0 packets, 0 bytes)\n{HEAD}"


def saved(*rules: str, table: str = "filter", chain: str = "INPUT") -> DeviceConfig:
    return VENDOR.parse(f"*{table}\n:{chain} ACCEPT [0:0]\n" + "".join(f"-A {chain} {rule}\n" for rule in rules) + "COMMIT\n")


def one(config: DeviceConfig, policy: int = 0) -> Rule:
    assert not config.unparsed, config.unparsed
    (rule,) = config.policies[policy].rules
    return rule


def listed(row: str, chain: str = "INPUT") -> Rule:
    return one(VENDOR.parse(f"Chain {chain} (policy ACCEPT 0 packets, 0 bytes)\n{HEAD}{row}\n"))


def script(*lines: str) -> DeviceConfig:
    return VENDOR.parse("#!/bin/sh\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("-s !128.0.0.0/1", "0.0.0.0/1"),
        ("-s ! 128.0.0.0/1", "0.0.0.0/1"),
        ("! --source 128.0.0.0/1", "0.0.0.0/1"),
        ("--src 10.0.0.1", "10.0.0.1/32"),
        ("-s 10.0.0.0/255.255.0.0", "10.0.0.0/16"),
        ("-m iprange --src-range 10.0.0.1-10.0.0.1", "10.0.0.1/32"),
        ("-m iprange --src-range 10.0.0.7", "10.0.0.7/32"),
        ("-m iprange ! --src-range 0.0.0.0-127.255.255.255", "128.0.0.0/1"),
        ("-s 0.0.0.0/0", "any4"),
    ],
)
def test_sources(text: str, source: str) -> None:
    assert addresses(one(saved(f"{text} -j DROP")).match.source) == source


def test_destination_ranges_are_not_sources() -> None:
    match = one(saved("-m iprange --dst-range 10.0.0.0-10.0.0.3 -j DROP")).match
    assert (addresses(match.source), addresses(match.destination)) == ("any4", "10.0.0.0/30")


def test_masks_of_ipv6_may_be_written_out() -> None:
    text = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -s 2001:db8::/ffff:ffff:: -j DROP\nCOMMIT\n"
    rule = one(VENDOR.parse(text))
    assert (addresses(rule.match.source), rule.hit_key) == ("2001:db8::/32", "ip6 filter INPUT: -s 2001:db8::/32 -j DROP")


def test_a_mask_of_ipv6_with_holes_is_not_understood() -> None:
    text = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -s 2001:db8::/ffff::ffff -j DROP\nCOMMIT\n"
    assert len(VENDOR.parse(text).unparsed) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-p tcp --destination-port 80", "tcp 80"),
        ("-p tcp --source-port 1:2", "tcp from 1-2"),
        ("-p udp --dport domain", "udp 53"),
        ("-p tcp --dport ! 80", "tcp 0-79,81-65535"),
        ("-p tcp -m multiport ! --dports 80,90", "tcp 0-79,81-89,91-65535"),
        ("-p 6 --dport 65535", "tcp 65535"),
        ("-p icmp --icmp-type 3/0", "icmp 3:0"),
        ("-p icmp --icmp-type TOS-network-unreachable", "icmp 3:11"),
        ("-p icmp --icmp-type 255/255", "icmp 255:255"),
        ("-p sctp --dport 1", "sctp 1"),
        ("-p 0", "any"),
        ("--icmp-type 8", "icmp 8"),
    ],
)
def test_services(text: str, expected: str) -> None:
    assert service(one(saved(f"{text} -j DROP")).match.services[0]) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("-p icmp --dport 1", "ports are given for a protocol that has none"),
        ("-p tcp --icmp-type 8", "an ICMP type is given for another protocol"),
        ("! -p tcp --dport 1", "ports or types are given for a negated protocol"),
        ("! -p all", "no protocol is left"),
        ("-p tcp --dport 65536", "'65536' is not a port (0..65535)"),
        ("-p icmp --icmp-type 3/256", "'3/256' is not an ICMP type"),
        ("-p icmp --icmp-type ping/1x", "'ping/1x' is not an ICMP type"),
        ("-m dscp --dscp 64", "'64' is not a DSCP"),
        ("-m iprange --src-range 10.0.0.2-10.0.0.1", "'10.0.0.2-10.0.0.1' is not a range of addresses"),
        ("-m set --match-set x", "a set is named without src or dst"),
        ("-m set --return-nomatch", "'--return-nomatch' is not understood here"),
        ("-p", "nothing stands behind -p"),
        ("-p tcp --dport", "an option ends without its value"),
        ("permit", "'permit' is not understood here"),
    ],
)
def test_what_is_refused_says_why(text: str, reason: str) -> None:
    assert [u.reason for u in saved(f"{text}").unparsed] == [reason]


def test_the_match_of_another_module_is_no_dscp_match() -> None:
    match = one(saved("-m foo --dscp 46 -j DROP")).match
    assert (match.dscp, match.conditions) == (None, ("foo --dscp 46",))


def test_dscp_is_narrowed_by_every_match() -> None:
    assert one(saved("-m dscp ! --dscp-class EF -j DROP")).match.dscp == frozenset(range(64)) - {46}


def test_options_of_a_target_may_stand_in_front_of_matches() -> None:
    rule = one(saved("-j REJECT --reject-with tcp-reset -p tcp --dport 113"))
    assert (service(rule.match.services[0]), rule.match.conditions) == ("tcp 113", ())


def test_counters_that_a_rule_sets_are_no_condition() -> None:
    assert one(saved("-c 5 300 -s 10.0.0.1 -j DROP")).match.conditions == ()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("1 2 ACCEPT tcp -- * * 0.0.0.0/0 0.0.0.0/0 tcp spts:1:2 dpt:!80", "tcp from 1-2 to 0-79,81-65535"),
        ("1 2 ACCEPT udp -- * * 0.0.0.0/0 0.0.0.0/0 udp dpts:67:68", "udp 67-68"),
        ("1 2 ACCEPT tcp -- * * 0.0.0.0/0 0.0.0.0/0 multiport sports 1,2", "tcp from 1-2"),
        ("1 2 ACCEPT tcp -- * * 0.0.0.0/0 0.0.0.0/0 multiport dports  !1,3", "tcp 0,2,4-65535"),
        ("1 2 ACCEPT tcp -- * * 0.0.0.0/0 0.0.0.0/0 state NEW tcp dpt:22flags: 0x17/0x02", "tcp 22"),
        ("1 2 ACCEPT icmp -- * * 0.0.0.0/0 0.0.0.0/0 icmptype 3 code 4", "icmp 3:4"),
        ("1 2 ACCEPT icmp -- * * 0.0.0.0/0 0.0.0.0/0 icmp !type 8", "icmp 0-7,9-255"),
        ("1 2 ACCEPT icmp -- any any anywhere anywhere icmp echo-request", "icmp 8"),
        ("1 2 ACCEPT tcp -- any any anywhere anywhere tcp dpts:http:https", "tcp 80-443"),
        ("1 2 ACCEPT !tcp -- * * 0.0.0.0/0 0.0.0.0/0", "proto 0-5+proto 7-255"),
        ("1 2 ACCEPT 47 -- * * 0.0.0.0/0 0.0.0.0/0", "proto 47"),
    ],
)
def test_services_of_a_listing(row: str, expected: str) -> None:
    assert service(listed(row).match.services[0]) == expected


def test_a_glued_word_is_read_apart() -> None:
    rule = listed("1 2 DROP tcp -- * * 0.0.0.0/0 0.0.0.0/0 state NEW tcp dpt:22flags: 0x17/0x02")
    assert rule.match.conditions == ("state NEW", "flags: 0x17/0x02")


def test_conditions_of_a_listing_are_told_apart() -> None:
    rule = listed('1 2 DROP tcp -f !eth0 * 0.0.0.0/0 0.0.0.0/0 multiport ports 1,2 ! ctstate NEW STRING match "a b" ALGO name bm')
    words = ("! -i eth0", "-f", "multiport ports 1,2", "! ctstate NEW", 'STRING match "a b" ALGO name bm')
    assert rule.match.conditions == words


def test_ranges_sets_and_marks_of_a_listing() -> None:
    text = (
        "create s hash:ip\nadd s 10.0.0.9\nChain INPUT (policy ACCEPT 0 packets, 0 bytes)\n" + HEAD
        + "1 2 DROP all -- * * 0.0.0.0/0 0.0.0.0/0 source IP range 10.0.0.0-10.0.0.1\n"
        + "1 2 DROP all -- * * 0.0.0.0/0 0.0.0.0/0 destination IP range ! 0.0.0.0-127.255.255.255\n"
        + "1 2 DROP all -- * * 0.0.0.0/0 0.0.0.0/0 match-set s dst\n"
        + "1 2 DROP all -- * * 0.0.0.0/0 0.0.0.0/0 DSCP match 0x2e\n"
        + "1 2 DROP all -- * * 0.0.0.0/0 0.0.0.0/0 DSCP match !0x2e\n"
    )  # fmt: skip
    rules = VENDOR.parse(text).policies[0].rules
    assert addresses(rules[0].match.source) == "10.0.0.0/31"
    assert addresses(rules[1].match.destination) == "128.0.0.0/1"
    assert (addresses(rules[2].match.source), addresses(rules[2].match.destination)) == ("any4", "10.0.0.9/32")
    assert rules[3].match.dscp == frozenset({46})
    assert rules[4].match.dscp == frozenset(range(64)) - {46}


@pytest.mark.parametrize(
    ("words", "marker"),
    [
        ("DSCP set 0x2e", "46 None"),
        ("MARK xset 0x7/0xffffffff", "None 7"),
        ("MARK set 0x9", "None 9"),
        ("CLASSIFY set 1:1f", "None 31"),
        ("TOS set 0x20/0x3f", ""),
        ("TOS set 0xb8/0xfc", "46 None"),
        ("MARK and 0xff", ""),
    ],
)
def test_marks_that_a_listing_prints(words: str, marker: str) -> None:
    target = words.split()[0]
    rows = f"Chain PREROUTING (policy ACCEPT 0 packets, 0 bytes)\n{HEAD}1 2 {target} all -- * * 0.0.0.0/0 0.0.0.0/0 {words}\n"
    config = VENDOR.parse(rows + "Chain FORWARD (policy ACCEPT 0 packets, 0 bytes)\n" + HEAD)
    found = [f"{c.marker.dscp} {c.marker.queue}" for q in config.qos_policies for c in q.classes if c.marker]
    assert found == ([marker] if marker else [])


@pytest.mark.parametrize(
    ("row", "kind", "source", "destination", "service_text"),
    [
        ("SNAT all -- * eth0 0.0.0.0/0 0.0.0.0/0 to:192.0.2.1", "source", "192.0.2.1", "", ""),
        ("MASQUERADE tcp -- * eth0 0.0.0.0/0 0.0.0.0/0 masq ports: 1024-2048", "source", "interface", "", "1024-2048"),
        ("NETMAP all -- * eth0 10.0.0.0/24 0.0.0.0/0 to:192.0.2.0/24", "static", "192.0.2.0/24", "", ""),
    ],
)
def test_translations_of_a_listing(row: str, kind: str, source: str, destination: str, service_text: str) -> None:
    text = f"Chain PREROUTING {EMPTY}Chain POSTROUTING {EMPTY}1 2 {row}\n"
    (rule,) = VENDOR.parse(text).nat_rules
    found = (rule.kind.value, rule.translated_source, rule.translated_destination, rule.translated_service)
    assert found == (kind, source, destination, service_text)


def test_a_redirected_port_of_a_listing() -> None:
    rows = f"Chain PREROUTING {EMPTY}1 2 REDIRECT udp -- * * 0.0.0.0/0 0.0.0.0/0 udp dpt:53 redir ports 5353\n"
    (rule,) = VENDOR.parse(rows + "Chain POSTROUTING (policy ACCEPT 0 packets, 0 bytes)\n" + HEAD).nat_rules
    assert (rule.translated_destination, rule.translated_service) == ("this host", "5353")


def test_addresses_of_ipv6_in_brackets_keep_their_port() -> None:
    text = (
        "# Generated by ip6tables-save v1.8.9\n*nat\n:PREROUTING ACCEPT [0:0]\n"
        "-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT --to-destination [2001:db8::1]:8080\nCOMMIT\n"
    )
    (rule,) = VENDOR.parse(text).nat_rules
    assert (rule.translated_destination, rule.translated_service) == ("2001:db8::1", "8080")


@pytest.mark.parametrize(
    ("chains", "table"),
    [
        (("PREROUTING", "OUTPUT"), "raw"),
        (("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"), "mangle"),
        (("PREROUTING", "OUTPUT", "POSTROUTING"), "nat"),
        (("INPUT", "FORWARD", "OUTPUT"), "filter"),
    ],
)
def test_a_listing_tells_its_table_by_its_chains(chains: tuple[str, ...], table: str) -> None:
    text = "".join(f"Chain {chain} (policy ACCEPT 0 packets, 0 bytes)\n{HEAD}\n" for chain in chains)
    assert [policy.name for policy in VENDOR.parse(text).policies] == [f"ip {table} {chain}" for chain in chains]


def test_two_listings_in_a_row_are_two_tables() -> None:
    text = f"Chain INPUT (policy DROP 0 packets, 0 bytes)\n{HEAD}\nChain web (1 references)\n{HEAD}\n" + "".join(
        f"Chain {chain} (policy ACCEPT 0 packets, 0 bytes)\n{HEAD}\n" for chain in ("PREROUTING", "POSTROUTING")
    )
    names = [policy.name for policy in VENDOR.parse(text).policies]
    assert names == ["ip filter INPUT", "ip filter web", "ip nat PREROUTING", "ip nat POSTROUTING"]


def test_old_listings_of_ip6tables_have_no_options_column() -> None:
    head = "target     prot opt source               destination         \n"
    text = "Chain INPUT (policy DROP)\n" + head
    text += "ACCEPT     all      fe80::/10            ::/0                \n"
    text += "           tcp      ::/0                 2001:db8::/32       tcp dpt:22 \n"
    rules = VENDOR.parse(text).policies[0].rules
    assert [(rule.action.value, addresses(rule.match.source), addresses(rule.match.destination)) for rule in rules] == [
        ("permit", "fe80::/10", "any6"),
        ("continue", "any6", "2001:db8::/32"),
    ]


@pytest.mark.parametrize(
    ("text", "packets", "size"),
    [("20M 1G", 20_000_000, 10**9), ("3K 4T", 3_000, 4 * 10**12), ("5 6P", 5, 6 * 10**15), ("7 8", 7, 8)],
)
def test_rounded_counters(text: str, packets: int, size: int) -> None:
    sample = VENDOR.counters(
        f"Chain INPUT (policy ACCEPT 0 packets, 0 bytes)\n{HEAD}{text} DROP all -- * * 0.0.0.0/0 0.0.0.0/0\n", None
    )
    assert sample is not None
    assert [(hit.hits, hit.bytes) for hit in sample.hits] == [(packets, size)]


def test_counters_of_listed_rules() -> None:
    sample = VENDOR.counters("-P INPUT ACCEPT -c 9 90\n-A INPUT -s 10.0.0.1/32 -c 5 300 -j DROP\n", None)
    assert sample is not None
    assert [(hit.key, hit.hits, hit.bytes) for hit in sample.hits] == [("ip filter INPUT: -s 10.0.0.1 -j DROP", 5, 300)]


def test_numbered_listings_with_counters() -> None:
    text = (
        "Chain INPUT (policy ACCEPT 0 packets, 0 bytes)\nnum " + HEAD.strip() + "\n1 5 300 DROP all -- * * 10.0.0.1 0.0.0.0/0\n"
    )
    sample = VENDOR.counters(text, None)
    assert sample is not None
    assert [(hit.key, hit.hits, hit.bytes) for hit in sample.hits] == [("ip filter INPUT: -s 10.0.0.1 -j DROP", 5, 300)]


@pytest.mark.parametrize(
    "lines",
    [
        ("iptables -w 5 -A INPUT -s 10.0.0.1 -j DROP",),
        ("iptables --wait -A INPUT -s 10.0.0.1 -j DROP",),
        ("sudo /usr/sbin/iptables-nft -A INPUT \\", "  -s 10.0.0.1 -j DROP"),
        ("iptables -A INPUT -s 10.0.0.1 -j DROP 2>/dev/null # why",),
        ("echo x; iptables -A INPUT -s 10.0.0.1 -j DROP;",),
        ("A=10.0.0.1", "B=${A}", 'iptables -A INPUT -s "$B" -j DROP'),
        ("IPT=`which iptables`", "$IPT -A INPUT -s 10.0.0.1 -j DROP"),
        ("IPT=$(command -v iptables)", "$IPT -A INPUT -s 10.0.0.1 -j DROP"),
        ("OPTS='-s 10.0.0.1 -j DROP'", "iptables -A INPUT $OPTS"),
        ("f() {", "  iptables -A INPUT -s 10.0.0.1 -j DROP", "}", "f"),
        ("function f", "{", "  iptables -A INPUT -s 10.0.0.1 -j DROP", "}", "f"),
        ("iptables -A INPUT -s 10.0.0.1 -j DROP", "iptables -A INPUT -j ACCEPT", "iptables -D INPUT 2"),
        ("iptables -N x", "iptables -A x -j ACCEPT", "iptables -F x", "iptables -X x", "iptables -A INPUT -s 10.0.0.1 -j DROP"),
        ("iptables -I INPUT -s 10.0.0.1 -j DROP", "iptables -D INPUT -s 9.9.9.9 -j DROP", "iptables -Z", "iptables -L -n"),
        ("case $1 in", "start|restart)", "iptables -A INPUT -s 10.0.0.1 -j DROP", ";;", "*)", "iptables -F", ";;", "esac"),
    ],
)  # fmt: skip
def test_scripts_that_say_the_same(lines: tuple[str, ...]) -> None:
    config = script(*lines)
    assert not config.unparsed
    assert [policy.name for policy in config.policies] == ["ip filter INPUT"]
    rule = one(config)
    assert (addresses(rule.match.source), rule.action.value, rule.match.conditions) == ("10.0.0.1/32", "deny", ())


def test_commands_of_both_families_stay_apart() -> None:
    config = script("iptables -A INPUT -j DROP", "ip6tables -A INPUT -j ACCEPT")
    assert [(p.name, p.family, p.rules[0].action.value) for p in config.policies] == [
        ("ip filter INPUT", 4, "deny"),
        ("ip6 filter INPUT", 6, "permit"),
    ]


def test_a_chain_with_rules_is_not_deleted() -> None:
    config = script("iptables -N x", "iptables -A x -j ACCEPT", "iptables -X x", "iptables -A INPUT -j x")
    assert [policy.name for policy in config.policies] == ["ip filter x", "ip filter INPUT"]


def test_a_variable_with_two_values_has_none() -> None:
    rule = one(script("A=10.0.0.1", "A=10.0.0.2", "iptables -A INPUT -s $A -j DROP"))
    assert (rule.match.unresolved, addresses(rule.match.source)) == (("$A",), "any4")


def test_a_value_for_one_command_only_is_no_value() -> None:
    rule = one(script("A=10.0.0.1 true", "iptables -A INPUT -s $A -j DROP"))
    assert rule.match.unresolved == ("$A",)


def test_what_stands_around_a_command_is_a_condition() -> None:
    config = script(
        "if [ -f /x ]; then", "  for i in 1 2; do", "    iptables -A INPUT -j DROP", "  done", "fi", "iptables -A INPUT -j ACCEPT"
    )
    assert [rule.match.conditions for rule in config.policies[0].rules] == [("if [ -f /x ]", "for i in 1 2"), ()]


def test_sets_of_commands() -> None:
    config = script(
        "ipset -N s iphash", "ipset -A s 10.0.0.1", "ipset -A s 10.0.0.2", "ipset -D s 10.0.0.2", "ipset -exist add s 10.0.0.3",
        "ipset flush other", "iptables -A INPUT -m set --set s src -j DROP",
    )  # fmt: skip
    assert addresses(one(config).match.source) == "10.0.0.1/32, 10.0.0.3/32"


def test_ports_of_a_set_that_are_no_ports_leave_the_rule_wide() -> None:
    text = "create p bitmap:port range 0-65535\nadd p 90-80\n"
    text += "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m set --match-set p dst -j DROP\n"
    match = one(VENDOR.parse(text)).match
    assert match.conditions == ("set --match-set p dst",)


def test_a_set_that_rules_fill_is_open() -> None:
    rules = "-A INPUT -j SET --add-set s src\n-A INPUT -m set --match-set s src -j DROP\n"
    text = f"create s hash:ip\n*filter\n:INPUT ACCEPT [0:0]\n{rules}"
    assert VENDOR.parse(text).policies[0].rules[1].match.unresolved == ("set s",)


def test_the_family_of_a_header_of_capirca() -> None:
    config = VENDOR.parse("# inet6\n-P INPUT DROP\n-A INPUT -j ACCEPT\n")
    assert [policy.name for policy in config.policies] == ["ip6 filter INPUT"]


def test_nat_of_local_and_received_packets_comes_where_the_kernel_does_it() -> None:
    text = "".join(
        f"*{table}\n" + "".join(f":{chain} ACCEPT [0:0]\n" for chain in chains) + "COMMIT\n"
        for table, chains in (("nat", ("INPUT", "OUTPUT")), ("filter", ("INPUT", "OUTPUT")), ("mangle", ("INPUT", "OUTPUT")))
    )
    order = [(stage.policies[0], stage.kind.value) for stage in VENDOR.parse(text).evaluation]
    assert order == [
        ("ip mangle INPUT", "filter"), ("ip filter INPUT", "filter"), ("ip nat INPUT", "source-nat"),
        ("ip mangle OUTPUT", "filter"), ("ip nat OUTPUT", "destination-nat"), ("ip filter OUTPUT", "filter"),
    ]  # fmt: skip


@pytest.mark.parametrize("declared", [":INPUT", ":INPUT ACCEPT [x:0]", ": ACCEPT [0:0]"])
def test_a_chain_that_is_not_declared_whole_is_not_understood(declared: str) -> None:
    config = VENDOR.parse(f"*filter\n{declared}\n-A INPUT -j DROP\nCOMMIT\n")
    assert [line.line for line in config.unparsed] == [2]


def test_a_count_without_a_rule_behind_it_is_not_understood() -> None:
    config = VENDOR.parse("*filter\n:INPUT ACCEPT [0:0]\n[1:60] INPUT -j DROP\nCOMMIT\n")
    assert ([line.line for line in config.unparsed], config.policies[0].rules) == ([3], ())


def test_a_library_of_functions_that_nobody_calls_is_read_all_the_same() -> None:
    config = script("allow_web() {", "  iptables -A INPUT -p tcp --dport 80 -j ACCEPT", "}", "iptables -P INPUT DROP")
    assert service(one(config).match.services[0]) == "tcp 80"
    called = script("f() {", "  iptables -A INPUT -j DROP", "}", "g() {", "  iptables -A INPUT -j ACCEPT", "}", "f")
    assert one(called).action.value == "deny"


@pytest.mark.parametrize(
    "before",
    ['echo "say \\""', "echo 'a\\'", 'echo "a;b"', "echo 'a # b'", "echo a#b", "true >&1", 'echo "it\'s"'],
)
def test_what_stands_in_quotes_ends_no_command(before: str) -> None:
    rule = one(script(f"{before}; iptables -A INPUT -j DROP"))
    assert (rule.action.value, rule.match.conditions) == ("deny", ())


@pytest.mark.parametrize("quiet", ["2>&1", ">/dev/null 2>&1", ">& /dev/null"])
def test_a_command_behind_or_depends_on_the_one_before_with_its_redirection(quiet: str) -> None:
    rule = one(script(f"iptables -C INPUT -j DROP {quiet} || iptables -A INPUT -j DROP"))
    assert rule.match.conditions == (f"iptables -C INPUT -j DROP {quiet} ||",)


def test_a_script_may_end_in_the_middle_of_a_command() -> None:
    assert one(VENDOR.parse("#!/bin/sh\niptables -A INPUT \\\n-j DROP \\")).action.value == "deny"


def test_only_the_branch_that_starts_the_firewall_runs() -> None:
    config = script(
        "case \"$1\" in", "# how it is called", "", "start)", "f=$(ls x)",
        "iptables -A INPUT -s 10.0.0.1 -j DROP", "echo (x) y", ";;",
        "stop)", "iptables -A INPUT -j ACCEPT", ";;", "on) iptables -A INPUT -s 10.0.0.2 -j DROP ;;", "esac",
        "iptables -A INPUT -s 10.0.0.3 -j DROP",
    )  # fmt: skip
    assert [addresses(rule.match.source) for rule in config.policies[0].rules] == ["10.0.0.1/32", "10.0.0.2/32", "10.0.0.3/32"]


def test_a_declaration_that_comes_again_opens_a_table_of_its_own() -> None:
    config = VENDOR.parse("*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\n:INPUT DROP [7:700]\n-A INPUT -j ACCEPT\nCOMMIT\n")
    assert [(rule.action.value) for policy in config.policies for rule in policy.rules] == ["deny", "permit"]
    assert [policy.default.value for policy in config.policies] == ["permit", "deny"]
