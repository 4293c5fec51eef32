"""Parsers on text that nobody wrote on purpose: no exception, nothing vanishes, time grows with the text."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.ledger import is_sensitive
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.ios_texts import EOS_PIECES, NXOS_PIECES, XR_PIECES, worst_eos, worst_nxos, worst_xr
from tests.vendors.vrp_texts import COMWARE_PIECES, USG_PIECES, worst_comware, worst_usg

HERE = Path(__file__).parent
PLATFORMS = (
    "arista_eos",
    "checkpoint_gaia",
    "cisco_iosxr",
    "cisco_nxos",
    "fortinet_fortios",
    "h3c_comware",
    "hillstone_stoneos",
    "huawei_usg",
    "huawei_vrp",
    "juniper_junos",
    "linux_iptables",
    "linux_nftables",
    "nvidia_cumulus",
    "paloalto_panos",
    "sonic",
)
EACH = pytest.mark.parametrize("platform", PLATFORMS)
PIECES = {
    "arista_eos": EOS_PIECES,
    "cisco_iosxr": XR_PIECES,
    "cisco_nxos": NXOS_PIECES,
    "h3c_comware": COMWARE_PIECES,
    "huawei_usg": USG_PIECES,
    "checkpoint_gaia": [
        "set interface eth0", "ipv4-address 10.0.0.1", "mask-length 99", "set static-route default",
        "nexthop gateway address", "on", "off", "priority 999", "logical", "add bonding group", "add interface", "vlan",
        "set hostname", "set virtual-system", "\n", '{"rulebase": [', '{"uid": "a", "type": "access-rule",',
        '"rule-number": 1,', '"source": ["b"],', '"hits": {"value": -1},', '{"objects": [',
        '"type": "group", "members": ["a", 5, null]', '"include": "a", "except": "a"', '"port": ">99999"', "]", "}", ",",
        '"objects-dictionary": [', '"inline-layer": 7', '"track": {"type": []}', '"ipv4-address": "x"', "NaN", "null",
        "1e999", '"', '"icmp-type": 300', '"name": {"a": 1}', "[", "{", "\\", "#", "set pbr",
    ],
    "fortinet_fortios": [
        "config firewall policy", "config firewall address", "config system interface", "config vdom", "config global",
        "edit 5", 'edit "a b"', "edit 0", "next", "end", "set srcaddr", '"all"', '"x', "set service", '"HTTP"',
        "set action accept", "set member", "append member", "unset srcaddr", "move 5 before", "delete 5", "rename a to b",
        "clone 5 to 6", "config firewall vip", "set extip", "10.0.0.1-10.0.0.0", "set extport 80-70",
        "set portforward enable", "set tos 0xzz", "set tos-mask 0xfc", "set nat enable", "set tcp-portrange 1:2:3", "²",
        "config firewall addrgrp", "set exclude enable", "set exclude-member", "idx=2 pkts/bytes=1/2 hit count:",
        "999999999999999999999", "set policy-expiry enable", "set policy-expiry-date", "set end 24:61 2024/13/40",
        "set dst 10.0.0.0", "FGT (root) # show", "\\", "#", "config firewall shaping-policy", "config router policy",
        "set protocol 6", "set start-port", "config system sdwan", "config zone",
    ],
    "hillstone_stoneos": [
        "rule id 5", "rule id 5 top", "rule from any to any permit", "exit", " action permit", ' src-addr "x"',
        " src-range 10.0.0.9 10.0.0.1", " src-ip 10.0.0.0 255.0.255.0", ' service "HTTP"', " service-rule tcp dst-port 9 8",
        "policy-global", " default-action permit", " move 5 before 5", 'address "x"', ' member "x"', ' exclude member "x"',
        " host a.b", "no", " no member", "servgroup s", "²", 'ip vrouter "trust-vr"', " snatrule id 1 from", "trans-to",
        "eif-ip mode", " dnatrule id", "port", " ip route", "0.0.0.0/0", "null0", "interface e0/1", " ip address 1.1.1.1",
        "qos-engine first", " root-pipe r", "  pipe p", "   pipe-rule forward bandwidth Mbps", "qos-profile q", ' class "c"',
        "  police", "enter-vsys v", "exit-vsys", "Most hit policy rules:", "1 5 a b PERMIT 7", '"', "schedule s",
        " absolute end 13/45/2024 25:61", "h(config)# rule id 7", "99999999999999999999999",
    ],
    "huawei_vrp": [
        "acl number 3001", "acl ipv6 name x", " rule 5 permit", " rule permit tcp source", "10.0.0.1", "0.0.255.0", "any",
        "traffic policy p", "traffic behavior b", " car cir", "kbps", "interface 100GE1/0/1", " qos queue 3", "drr weight",
        " traffic-policy p inbound", "undo", " classifier c behavior b precedence", "²", "99999999999999999999999", "range",
        "to", "#", "diffserv domain d", " ip-dscp-inbound", "display acl 3001", "Basic ACL 2000, 1 rule", "(3 matches)",
        " traffic-filter inbound acl", " qos pq", "time-range t from 24:00 9999/99/99",
    ],
    "juniper_junos": [
        "set security policies from-zone a to-zone b policy p", "match source-address", "any", "then permit", "{", "}", ";", "[",
        "]", "set apply-groups g", "set groups g", "<*>", "interfaces", "unit 0", "family inet", "filter", "input-list", "term t",
        "from", "then", "inactive:", "deactivate", "delete", "insert", "before", "after", "rename", "to", "edit", "top", "exit",
        "10.0.0.0/33", "10.0.0.1/255.0.255.0", "except", "port 99999", "icmp-type ²", "class-of-service", "classifiers dscp c",
        "forwarding-class f", "loss-priority low", "code-points 111111", "schedulers s transmit-rate percent 999", "/*", "*/",
        "##",
        '"', "user@host> show", "Index From zone To zone Name Policy count", "Filter: f", "Counters:", "nat source rule-set r",
        "pool p address", "range-address", "apply-path", "policer p if-exceeding bandwidth-limit 1x", "dscp 0xzz",
        "member ge-0/0/[9-1]",
    ],
    "linux_iptables": [
        "*filter", "*nat", ":INPUT DROP [0:0]", ":web - [0:0]", "-A INPUT", "-A web", "-I INPUT 3", "-D INPUT 1", "-j ACCEPT",
        "-g web", "-j RETURN", "-s 10.0.0.1", "! -s", "10.0.0.0/33", "1.1.1.1/255.0.255.0", "-p tcp", "--dport 99999",
        "--dport 5:1", "-m multiport --dports ,", "-m set --match-set s src", "create s hash:ip", "add s 10.0.0.1", "add s",
        "COMMIT", "Chain INPUT (policy DROP 1 packets, 2 bytes)", " pkts bytes target prot opt in out source destination",
        "0 0 ACCEPT tcp -- * * 0.0.0.0/0 0.0.0.0/0 tcp dpt:22", "target prot opt source destination", "iptables -A INPUT",
        "$IPT -A INPUT -s $x -j DROP", "for i in a", "done", "f() {", "}", "f", "case x in", "start)", ";;", "esac",
        "IPT=/sbin/iptables", "if true; then", "&&", "\\", "²", '"', "'", "-m comment --comment", "--icmp-type 999",
        "-m dscp --dscp 99", "-j DNAT --to-destination", "[1:2]", "-c 1", "-t nat", "#", "ip6tables -A x -s ::1", "-f", "!",
        "-j CLASSIFY --set-class 1:zz",
    ],
    "linux_nftables": [
        "table inet f {", "chain c {", "}", "{", ";", ",", "\"", "#", "\\\n", "type filter hook input priority 0;",
        "ip saddr", "@s", "$x", "define x = { $x, 1 }", "tcp dport", "1-2", "!=", "&", ".", "vmap", ":", "accept", "jump",
        "goto c", "counter packets 1 bytes", "limit rate over", "mbytes/second", "set s { type ipv4_addr; elements = {",
        "10.0.0.0/8", "meta", "ct", "queue", "log prefix", "# handle 3", "ip dscp set", "flush ruleset", "delete table f",
        "add rule f c", "insert", "²", "counter k {",
    ],
    "nvidia_cumulus": [
        "nv set acl A rule 1", "nv set acl", "match ip", "action permit", "nv unset acl A", "nv set interface swp1-99999",
        "qos pfc profile p", "nv set qos", "mapping x dscp 1,2 switch-priority", "roce mode lossless", "- set:", "  acl:",
        "    A:",
        "- header:", "traffic.cos_0.priority_source.dscp = [1", "pfc.port_group_list", "pfc.a.port_set = swp1-swp9",
        "ecn_red.a.x = 1", "[iptables]", "[ebtables]", "-A FORWARD", "X = y", "$X", "-j POLICE", "{", "}", "[", '"set":', '"acl"',
        "²", '"', "'", "  - a", "|", ": {}", "nv set vrf default router static", "via", "cos_egr_queue.cos_1.uc = 3",
        "shaping.x.port.shaper = 9",
    ],
    "paloalto_panos": [
        "<config>", "</config>", "<devices>", '<entry name="a">', "</entry>", "<member>", "</member>", "any", "<vsys>",
        "<rulebase>", "<security>", "<rules>", "<action>", "allow", "</action>", "&lt;", "&x;", "<!DOCTYPE a [", "<!-- x -->",
        "<?xml version='1.0'?>", "set rulebase security rules r1", "set address a ip-netmask 10.0.0.1", "from", "to", "[", "]",
        '"', "'", "set", "delete", "move", "before", "top", "rename a to b", "set device-group g", "parent-dg g",
        "set network interface ethernet", "set zone z network", "config {", "rulebase {", "}", ";", "action allow;",
        "application/service", "0:any/tcp/any/70000", "translate-to", "²", "terminal yes",
        "set service s protocol tcp port 99999-1", "ip-wildcard 1.1.1.1/85.85.85.85", "<rule-hit-count>", "<hit-count>",
        ",TRAFFIC,end,", "set application-group g members g", "set address-group g static g", "source any", "negate-source yes",
        "rule-type intrazone",
    ],
    "sonic": [
        "{", "}", "[", "]", ":", ",", '"ACL_RULE"', '"ACL_TABLE"', '"T|R"', '"PRIORITY": "9"', '"SRC_IP": "10.0.0.1/33"',
        '"PORT_QOS_MAP"',
        '"QUEUE"', '"Ethernet0|3-4"', '"scheduler"', '"[SCHEDULER|s]"', '"SCHEDULER"', '"BUFFER_QUEUE"', '"acl"', '"acl-sets"',
        '"acl-set"', '"config"', "null", "12", "²", '"\\u12"', '"x', '"STATIC_NAT"', '"STATIC_ROUTE"', '"10.0.0.0/8"',
        "RULE NAME  TABLE NAME  PRIO  PACKETS COUNT", "---------  ----------", "Port  TxQ", '"DSCP_TO_TC_MAP"', '"OP"', '"SET"',
        '"ACL_RULE_TABLE:a:b"', '"ports": ["a"]', '"VLAN|Vlan1"',
    ],
}  # fmt: skip


def check(platform: str, text: str) -> DeviceConfig:
    vendor = REGISTRY.get(platform)
    config = vendor.parse(text)
    vendor.counters(text, None)
    assert 0 <= vendor.looks_like(text) <= 1
    lines = text.removeprefix("\ufeff").split("\n")
    assert config.lines in (len(lines), len(lines) - 1)
    assert not [n for n in config.ignored if is_sensitive(lines[n - 1])]
    assert not set(config.ignored) & {u.line for u in config.unparsed}
    assert all(1 <= u.line <= len(lines) for u in config.unparsed)
    return config


@EACH
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_words_of_the_platform_in_any_order_never_raise(platform: str, data: st.DataObject) -> None:
    words = data.draw(st.lists(st.sampled_from(PIECES[platform]), max_size=60))
    glue = data.draw(st.sampled_from([" ", "\n", " \n"]))
    check(platform, glue.join(words))


@EACH
@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=400))
@example(text='\x00\ufeff\x1b[42D---- More ----\r\n{{{{"')
@example(text="}" * 50)
def test_any_text_never_raises(platform: str, text: str) -> None:
    check(platform, text)


@EACH
def test_binary_rubbish_is_unparsed(platform: str) -> None:
    text = random.Random(7).randbytes(50_000).decode("utf-8", errors="replace")
    config = check(platform, text)
    assert config.unparsed
    assert config.rule_count == 0


@EACH
def test_a_line_that_nobody_understands_never_vanishes(platform: str) -> None:
    """Put anywhere where a line may stand, it is among the unparsed lines."""
    odd = {"huawei_vrp": " quux permit access 7"}.get(platform, "quux permit access 7")
    for path in sorted((HERE / platform).glob("*/config.txt")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for at in range(1, len(lines)):
            before = lines[at - 1].rstrip()
            if platform == "linux_nftables" and (
                before.endswith((",", "\\")) or not before.endswith(("{", "}", ";", "accept", "drop"))
            ):
                continue
            if platform in IOS_LIKE and "\n".join(lines[:at]).count("^") % 2:
                continue  # inside a banner
            if platform in ("fortinet_fortios", "paloalto_panos") and "\n".join(lines[:at]).replace('\\"', "").count('"') % 2:
                continue  # inside a text of several lines
            text = "\n".join([*lines[:at], odd, *lines[at:]])
            found = REGISTRY.get(platform).parse(text)
            unparsed = " ".join(u.text for u in found.unparsed)
            if platform == "checkpoint_gaia" and lines[at - 1].rstrip().endswith(("[", ",")):
                continue  # inside an answer it is damage, which tests of answers look at
            if platform == "juniper_junos":  # what a rule matches and nobody knows is a condition
                matches = [rule.match for policy in found.policies for rule in policy.rules]
                matches += [rule.match for rule in found.nat_rules]
                unparsed += " ".join(text for match in matches for text in match.conditions)
            assert "quux" in unparsed, f"{path.parent.name} line {at + 1}\n{text}"


def worst_fortios(size: int) -> list[str]:
    names = " ".join(f'"n{n}"' for n in range(size))
    vips = "".join(f"edit v{n}\nset extip 10.{n >> 8 & 255}.{n & 255}.1\nset mappedip 10.0.0.1\nnext\n" for n in range(size // 4))
    rules = "".join(
        f"edit {n}\nset srcintf z{n % 99}\nset srcaddr all\nset dstaddr {'all' if n % 2 else f'v{n}'}\nnext\n"
        for n in range(size // 4)
    )
    groups = "".join(
        f"edit g{n}\nset member g{n + 1}\nset exclude enable\nset exclude-member g{n + 2}\nnext\n" for n in range(size // 4)
    )
    return [
        f"config firewall vip\n{vips}end\nconfig firewall policy\n{rules}end\n",
        f"config firewall addrgrp\n{groups}end\n",
        f"config firewall policy\nedit 1\nset srcaddr {names}\n" + f"append srcaddr {names[:200]}\n" * (size // 4),
        "config firewall policy\n" + "edit 1\nnext\nedit 2\nnext\nmove 1 after 2\n" * (size // 4),
        "config a\nedit b\n" * size,
        'set a "\n' * size,
        "config firewall policy\nedit 0\nnext\n" + "edit 0\nnext\n" * (size // 4),
        '"' * size,
    ]


def worst_panos(size: int) -> list[str]:
    entries = "".join(f'<entry name="r{n}"><action>allow</action></entry>' for n in range(size // 4))
    groups = "".join(f"set address-group g{n} static [ g{n + 1} g{n + 2} ]\n" for n in range(size // 4))
    rules = "".join(f"set rulebase security rules r{n} action allow\n" for n in range(size // 4))
    return [
        f"<config><devices><entry><vsys><entry name='vsys1'><rulebase><security><rules>{entries}",
        "<a>" * size,
        "<mgt-config><entry name='" + "x" * size + "'>" + "<y/>" * size + "</entry></mgt-config>",
        "<config/>\n" * size,
        "<rules></rules>" * (size // 4),
        groups,
        rules + "".join(f"move rulebase security rules r{n} top\n" for n in range(size // 4)),
        "set rulebase security rules r source [ " + " ".join(f"10.{n >> 8 & 255}.{n & 255}.1" for n in range(size)) + " ]",
        'set a "\n' * size,
        "config {\n" * size,
        "a b\n" * size + "x {",
        '"' * size,
        "set device-group g0 parent-dg g1\n" + "".join(f"set device-group g{n} parent-dg g{n + 1}\n" for n in range(size // 40)),
    ]


def worst_junos(size: int) -> list[str]:
    groups = "".join(f"set groups g{n} apply-groups g{n + 1}\nset groups g{n} interfaces <*> mtu 1\n" for n in range(size // 8))
    ports = "".join(f"set interfaces ge-0/0/{n} apply-groups g{n}\n" for n in range(size // 8))
    ranges = "".join(f"set interfaces interface-range r{n} member ge-0/0/[0-511]\n" for n in range(size // 8))
    lists = "".join(f"set interfaces ge-0/0/{n} unit 0 family inet filter input-list [ F G{n} ]\n" for n in range(size // 8))
    terms = "".join(f"set firewall family inet filter F term t{n} from source-address 10.0.0.{n % 9}/32\n" for n in range(size))
    sets = "".join(f"set security address-book global address-set s{n} address-set s{n + 1}\n" for n in range(size))
    return [
        "a {\n" * size,
        "security {\npolicies {\n" + "from-zone a to-zone b {\n" * size,
        "{" * size + "}" * size,
        groups + ports + "set apply-groups g0\n",
        ranges + "set interfaces interface-range r1 mtu 1500\n",
        terms + lists,
        sets,
        "".join(f"set a{n} b\ninsert a{n} before a{n - 1}\n" for n in range(size // 4)),
        '"' * size,
        "set " * size,
    ]


def worst_stoneos(size: int) -> list[str]:
    rules = "".join(f"rule id {n}\n  action permit\n  src-addr x{n % 9}\nexit\n" for n in range(size // 3))
    groups = "".join(f'address "g{n}"\n  member "g{n + 1}"\n  exclude member "g{n + 2}"\nexit\n' for n in range(size // 4))
    pipes = "".join(f"{' ' * (n + 1)}pipe p{n}\n" for n in range(min(size // 8, 900)))
    return [
        rules,
        groups,
        "qos-engine first\n root-pipe r\n" + pipes,
        "rule id 1\n" + "  src-addr a\n  no src-addr b\n" * (size // 2),
        "policy-global\n  rule id 1\n  rule id 2\n" + "  move 1 after 2\n" * size,
        "\n".join(" " * (n % 400) + "x" for n in range(size)),
        'address "x"\n' + "  ip 10.0.0.0/8\n" * size,
        '"' * size,
        "exit\n" * size,
    ]


def worst_iptables(size: int) -> list[str]:
    rules = "".join(f"-A INPUT -s 10.{n >> 8 & 255}.{n & 255}.1/32 -p tcp -m tcp --dport {n} -j ACCEPT\n" for n in range(size))
    chains = "".join(f":c{n} - [0:0]\n" for n in range(size // 4)) + "".join(f"-A c{n} -j c{n + 1}\n" for n in range(size // 4))
    calls = "".join(f"f{n}() {{\nf{n + 1}\nf{n + 1}\n}}\n" for n in range(size // 8))
    members = "".join(f"add s 10.{n >> 8 & 255}.{n & 255}.1\n" for n in range(size))
    nested = "".join(f"create t{n} list:set\nadd t{n} t{n + 1}\n" for n in range(size // 4))
    return [
        "*filter\n:INPUT DROP [0:0]\n" + rules,
        "*filter\n:INPUT DROP [0:0]\n-A INPUT -j c0\n" + chains,
        calls + "f0\niptables -A INPUT -j DROP\n",
        "create s hash:ip\n" + members + "*filter\n" + "-A INPUT -m set --match-set s src -j ACCEPT\n" * (size // 4),
        "iptables -A INPUT -s 1.1.1.1 -j DROP\n" * (size // 2) + "iptables -D INPUT -s 2.2.2.2 -j DROP\n" * (size // 2),
        "iptables -I INPUT -j DROP\n" * size,
        "Chain INPUT (policy DROP)\n" + "Chain x (1 references)\n" * size,
        "a\\\n" * size,
        ":c -\n" * size,
        '"' * size,
        "if x\n" * size + "iptables -A INPUT -j DROP\n" * size,
        "".join(f"A{n}=$A{n + 1}\n" for n in range(size // 4)) + "$A0 -A INPUT -j DROP\n",
        "case x in\n" * size,
        nested,
    ]


def worst_sonic(size: int) -> list[str]:
    rules = ",".join(f'"T|R{n}": {{"PRIORITY": "{n}", "SRC_IP": "10.0.{n % 250}.1/32"}}\n' for n in range(size))
    lists = ",".join('"' + ",".join(f"E{k}" for k in range(500)) + f'|0-60": {{"x": "{n}"}}\n' for n in range(size // 40))
    addresses = ",".join(f'"Ethernet0|10.{n >> 8 & 255}.{n & 255}.1/32": {{}}\n' for n in range(size))
    ports = ",".join(f'"Ethernet{n}": {{"tc_to_queue_map": "m{n}", "dscp_to_tc_map": "A"}}\n' for n in range(size // 2))
    maps = ",".join(f'"m{n}": {{"1": "1"}}\n' for n in range(size // 2))
    return [
        '{"ACL_TABLE": {"T": {"type": "L3"}}, "ACL_RULE": {' + rules + "}}",
        "{" * size,
        "[" * size + "]" * size,
        '{"a":' * size,
        '"a" ' * size,
        '{"QUEUE": {' + lists + "}}",
        '{"INTERFACE": {' + addresses + "}}",
        "Port  TxQ  Counter/pkts\n----  ---  ------------\n" + "E0  UC0  1\n" * size,
        "----  ---\n" * size,
        '{"PORT_QOS_MAP": {' + ports + '}, "TC_TO_QUEUE_MAP": {' + maps + '}, "DSCP_TO_TC_MAP": {"A": {"1": "1"}}}',
    ]


def worst_cumulus(size: int) -> list[str]:
    rules = "".join(f"nv set acl A rule {n} match ip source-ip 10.0.{n % 250}.1\n" for n in range(size))
    pairs = "".join(f"nv set interface swp{n} qos pfc profile p{n}\nnv set qos pfc p{n} tx enable\n" for n in range(size // 2))
    groups = "".join(f"ecn_red.g{n}.egress_queue_list = [0,1,2]\necn_red.g{n}.probability = 3\n" for n in range(size // 2))
    return [
        rules + "nv set interface swp1 acl A inbound\n",
        "".join(f"nv set interface swp1-1000,x{n} acl A inbound\n" for n in range(size // 8)),
        pairs,
        groups,
        "nv set " + "a " * 1500,
        "".join(" " * (n % 300) + f"k{n}:\n" for n in range(size)),
        "- set:\n" + "".join("  " * min(n, 900) + "k:\n" for n in range(size // 4)),
        "[iptables]\n" + "-A FORWARD -j ACCEPT\n" * size,
        "pfc.a.port_set = swp1-swp900\n" * (size // 8),
    ]


def worst_checkpoint(size: int) -> list[str]:
    groups = ",".join(
        f'{{"uid": "g{n}", "name": "g", "type": "group", "members": ["g{n + 1}", "g{n + 2}"]}}' for n in range(size)
    )
    taken = ",\n".join(
        f'{{"uid": "g{n}", "type": "group-with-exclusion", "include": "g{n + 1}", "except": "g{n + 2}"}}' for n in range(size)
    )
    rules = ",".join(f'{{"uid": "r{n}", "type": "access-rule", "quux{n}": 1}}' for n in range(size))
    return [
        f'{{"objects": [{groups}]}}',
        f'{{"objects": [{taken}]}}',
        f'{{"uid": "L", "name": "L", "rulebase": [{rules}]}}',
        "{\n" * size,
        "[" * size,
        '{"a": 1,}\n' * size,
        '{"a":\n' * size,
        '{"\n' * size,
        "set static-route 10.0.0.0/8 nexthop gateway address 10.0.0.1 on\n" * size,
    ]


def worst_vrp(size: int) -> list[str]:
    acls = "".join(f"acl number {3000 + n}\n rule 5 permit ip source 10.0.0.{n % 250} 0\n" for n in range(size // 4))
    ports = "".join(f"interface 10GE1/0/{n}\n traffic-filter inbound acl {3000 + n}\n qos pq\n" for n in range(size // 4))
    return [
        "sysname x\nacl number 3000\n" + "".join(f" rule {n} permit ip source 10.0.{n % 250}.1 0\n" for n in range(size)),
        "sysname x\n" + acls + ports,
        "a" * (size * 20),
        "\n".join(" " * (n % 400) + "x" for n in range(size)),
        "rule " * size,
        "-- More --" * size,
    ]


def worst_nftables(size: int) -> list[str]:
    rules = "".join(f"tcp dport {n % 60000} accept\n" for n in range(size))
    many = ", ".join(f"10.{n >> 8 & 255}.{n & 255}.1" for n in range(size))
    keys = ", ".join(f"{n} : drop" for n in range(size // 10))
    uses = "tcp dport vmap @m\n" * (size // 10)
    jumps = "".join(f"chain c{n} {{\njump c{n + 1}\n}}\n" for n in range(size // 4))
    return [
        "table inet f {\nchain c {\n" + rules + "}\n}\n",
        "table inet f {\n" + jumps + "}\n",
        "{" * size + "}" * size,
        "table inet f {\nchain c {\nip saddr { " + many + " } accept\n}\n}\n",
        "table inet f {\nset s { type ipv4_addr; elements = { 10.0.0.1 }; }\nchain c {\n"
        + "ip saddr @s accept\n" * size
        + "}\n}",
        '"' * size,
        "table " * size,
        "table inet f {\nmap m { type inet_service : verdict; elements = { " + keys + " }; }\nchain c {\n" + uses + "}\n}",
    ]


IOS_LIKE = {"arista_eos": worst_eos, "cisco_iosxr": worst_xr, "cisco_nxos": worst_nxos}
WORST: dict[str, Callable[[int], list[str]]] = {
    **IOS_LIKE,
    "checkpoint_gaia": worst_checkpoint,
    "fortinet_fortios": worst_fortios,
    "h3c_comware": worst_comware,
    "hillstone_stoneos": worst_stoneos,
    "huawei_usg": worst_usg,
    "huawei_vrp": worst_vrp,
    "juniper_junos": worst_junos,
    "linux_iptables": worst_iptables,
    "linux_nftables": worst_nftables,
    "nvidia_cumulus": worst_cumulus,
    "paloalto_panos": worst_panos,
    "sonic": worst_sonic,
}


HANG_S = 4.0  # how fast is measured by `make bench`; this only tells a hang


def seconds(platform: str, text: str) -> float:
    began = time.process_time()
    REGISTRY.get(platform).parse(text)
    return time.process_time() - began


@EACH
def test_hostile_text_does_not_hang_a_parser(platform: str) -> None:
    for text in WORST[platform](4_000):
        spent = seconds(platform, text)
        assert spent < HANG_S, f"{spent:.2f}s of CPU: {text[:60]!r}"


# Of no platform: what a wrong file may hold for a long stretch.
RUNS = (
    '{"a":',
    "[",
    "a",
    "a ",
    " ",
    "\t",
    "a@",
    "a:",
    "<",
    "<a ",
    '"',
    "'a\"",
    "#",
    "\n",
    " \n",
    "\r",
    "-",
    "0.",
    "*",
    "|",
    "=,",
)


def test_no_platform_looks_long_at_a_text_of_another() -> None:
    texts = [run * (20_000 // len(run)) for run in RUNS] + [text for worst in WORST.values() for text in worst(500)]
    for name in REGISTRY.names():
        looks_like = REGISTRY.get(name).looks_like
        for text in texts:
            began = time.process_time()
            looks_like(text)
            assert time.process_time() - began < 0.5, f"{name}: {text[:60]!r}"
