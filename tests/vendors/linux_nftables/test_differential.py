"""The parser against nft itself: the kernel's ruleset as text through the parser, as JSON through an independent reading here."""

from __future__ import annotations

import ipaddress
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet
from policyhub.domain.rules import Action, Policy, Rule
from policyhub.vendors.linux_nftables import VENDOR
from policyhub.vendors.linux_nftables.parse import parse
from tests.vendors.linux_nftables.netns import Namespace, namespace

pytestmark = pytest.mark.root
PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
PROTOCOLS = {"icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "ipv6-icmp": 58, "icmpv6": 58, "sctp": 132}

WIDE = """
table inet wide {
    counter sold { packets 3 bytes 400; }
    limit slow { rate over 10 mbytes/second; }
    set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 192.168.1.5-192.168.1.9, 172.16.0.1 }; }
    set ports { type inet_service; elements = { 22, 8080 }; }
    set pairs { type ipv4_addr . inet_service; elements = { 10.1.1.1 . 22 }; }
    set seen { type ipv4_addr; size 100; flags dynamic,timeout; timeout 1m; }
    set noted { type ipv6_addr; counter; elements = { 2001:db8::1, 2001:db8::2 comment "x, {y}" }; }
    map verdicts { type ipv4_addr : verdict; elements = { 10.1.1.1 : drop, 10.2.2.2 : jump web }; }
    chain web {
        tcp dport { 80, 443 } counter packets 9 bytes 90 accept
        return
    }
    chain in {
        type filter hook input priority 5; policy drop;
        ct state established,related accept
        ct state vmap { invalid : drop, new : continue }
        iifname "lo" accept comment "loop; back"
        iifname { "eth0", "eth1" } ip saddr @nets tcp dport @ports counter packets 5 bytes 6 accept
        ip saddr . tcp dport @pairs accept
        ip saddr vmap @verdicts
        tcp dport vmap { 22 : accept, 80-90 : jump web }
        ip protocol icmp icmp type echo-request limit rate 10/second accept
        icmpv6 type { nd-neighbor-solicit, nd-router-advert } accept
        meta l4proto { tcp, udp } th dport 53 counter packets 0 bytes 0 accept
        ip daddr != 10.0.0.0/8 drop
        ip saddr & 0.0.0.255 == 0.0.0.1 drop
        tcp flags & (fin|syn|rst|ack) == syn drop
        tcp dport 1-1023 log prefix "x y" level warn drop
        tcp dport != { 22, 23 } reject with icmpx type port-unreachable
        meta mark 0x10 tcp sport >= 1024 accept
        ip dscp ef ip dscp set cs1 counter name sold
        ip6 dscp { cs5, ef, 1 } limit rate over 1 mbytes/second burst 100 kbytes drop
        add @seen { ip saddr limit rate 5/minute } accept
        fib saddr . iif oif missing drop
        ip ttl 64 meta mark set 7
        goto web
    }
    chain nat {
        type nat hook postrouting priority srcnat; policy accept;
        oifname "eth0" masquerade
        ip saddr 10.0.0.0/8 snat ip to 198.51.100.4
    }
}
table netdev edge {
    chain first {
        type filter hook ingress device "lo" priority -500; policy accept;
        ip saddr 198.51.100.9 drop
    }
}
table ip6 six {
    chain f {
        type filter hook forward priority filter; policy accept;
        ip6 saddr 2001:db8::/32 udp sport 500 drop
    }
}
"""


@pytest.fixture
def router() -> Iterator[Namespace]:
    with namespace("dif") as space:
        yield space


def load(router: Namespace, text: str) -> tuple[str, list[dict[str, Any]]]:
    router.must(f"nft -f - <<'END'\n{text}\nEND")
    listed = router.must("nft list ruleset")
    return listed, json.loads(router.must("nft -j list ruleset"))["nftables"]


def of_kind(items: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [item[kind] for item in items if kind in item]


def title(chain: dict[str, Any]) -> str:
    return f"{chain['family']} {chain['table']} {chain.get('chain') or chain['name']}"


def check_chains(policies: dict[str, Policy], items: list[dict[str, Any]]) -> None:
    chains = of_kind(items, "chain")
    assert [title(chain) for chain in chains] == [name for name in policies if not name.endswith(" return")]
    for chain in chains:
        policy = policies[title(chain)]
        if "hook" not in chain:
            assert policy.default is None
            assert policy.bindings == ()
            continue
        assert policy.default is {"accept": Action.PERMIT, "drop": Action.DENY}[chain["policy"]]
        assert [b.direction for b in policy.bindings] == [chain["hook"]]
        if "dev" in chain or chain["family"] != "netdev":  # nft 1.0.6 leaves the device out of its JSON
            assert [b.interface for b in policy.bindings] == [chain.get("dev", "")]
        shown = policy.notes[0].split("priority ")[1].split(";")[0].split()
        number = PRIORITIES[shown[0]] if shown[0] in PRIORITIES else int(shown[0])
        number += int("".join(shown[1:])) if len(shown) > 1 else 0
        assert number == chain["prio"], policy.notes
        assert (policy.purpose == "nat") == (chain["type"] == "nat")


def plain_rules(policy: Policy) -> dict[int, list[Rule]]:
    """Rules by position; a verdict map gives several."""
    found: dict[int, list[Rule]] = {}
    for rule in policy.rules:
        found.setdefault(int(rule.name.rpartition(" ")[2].partition(".")[0]), []).append(rule)
    return found


def address_of(right: Any, sets: dict[str, Any]) -> AddressSet | None:
    """An address, prefix, range, set of them, or named set of nft's JSON."""
    if isinstance(right, str) and right.startswith("@"):
        known = sets[right[1:]]
        if "dynamic" in known.get("flags", []) or "timeout" in known.get("flags", []):
            return None
        return address_of({"set": known.get("elem", [])}, sets)
    if isinstance(right, str):
        return AddressSet.of(right)
    if "prefix" in right:
        return AddressSet.of(f"{right['prefix']['addr']}/{right['prefix']['len']}")
    if "range" in right:
        return AddressSet.of("-".join(right["range"]))
    if "elem" in right:
        return address_of(right["elem"]["val"], sets)
    parts = [address_of(part, sets) for part in right["set"]]
    return AddressSet().union(*(part for part in parts if part is not None))


def ports_of(right: Any, sets: dict[str, Any]) -> set[int]:
    if isinstance(right, str):
        return ports_of({"set": sets[right[1:]]["elem"]}, sets)
    if isinstance(right, int):
        return {right}
    if "range" in right:
        return set(range(right["range"][0], right["range"][1] + 1))
    return set().union(*(ports_of(part, sets) for part in right["set"]))


def scope(rule: dict[str, Any], sets: dict[str, Any]) -> tuple[AddressSet, AddressSet]:
    """Source and destination that the JSON leaves, families implied by headers included."""
    sides = dict.fromkeys(("saddr", "daddr"), {"ip": ANY4, "ip6": ANY6}.get(rule["family"], ANY))
    for part in rule["expr"]:
        match = part.get("match")
        left = match["left"] if match else part.get("mangle", {}).get("key", {})
        for inner in left.get("concat", [left]):
            layer, field = inner.get("payload", {}).get("protocol"), inner.get("payload", {}).get("field")
            whole = {"ip": ANY4, "icmp": ANY4, "ip6": ANY6, "icmpv6": ANY6}.get(layer)
            if whole is None:
                continue
            sides = {side: known.intersection(whole) for side, known in sides.items()}
            if match and "concat" not in left and layer in ("ip", "ip6") and field in sides and match["op"] in ("==", "!="):
                known = address_of(match["right"], sets)
                known = whole if known is None else known if match["op"] == "==" else whole.minus(known)
                sides[field] = sides[field].intersection(known)
    return sides["saddr"], sides["daddr"]


def check_rule(rules: list[Rule], rule: dict[str, Any], sets: dict[str, Any], policy: Policy) -> None:
    """What the JSON says about addresses, ports, protocol and verdict must be what the parsed rule says."""
    (parsed,) = rules
    if not any("ip saddr &" in condition for condition in parsed.match.conditions):
        assert (parsed.match.source, parsed.match.destination) == scope(rule, sets), parsed.text
    for part in rule["expr"]:
        match = part.get("match", {})
        payload = match.get("left", {}).get("payload", {}) if isinstance(match.get("left"), dict) else {}
        layer = payload.get("protocol")
        if layer in PROTOCOLS and "field" in payload:
            number = PROTOCOLS[layer]
            assert {service.protocols for service in parsed.match.services} == {((number, number),)}, parsed.text
        if layer in ("tcp", "udp", "sctp") and payload.get("field") == "dport" and match["op"] in ("==", "!="):
            ports = ports_of(match["right"], sets)
            ports = ports if match["op"] == "==" else set(range(65536)) - ports
            intervals = [pair for service in parsed.match.services for pair in service.destination_ports]
            assert {port for low, high in intervals for port in range(low, high + 1)} == ports, parsed.text
    check_effect(parsed, rule, policy)


def policy_table(policy: Policy) -> str:
    return policy.name.rpartition(" ")[0]


def check_effect(parsed: Rule, rule: dict[str, Any], policy: Policy) -> None:
    verdicts = {key for part in rule["expr"] for key in part}
    wanted = Action.DENY if verdicts & {"drop", "reject"} else Action.CONTINUE
    wanted = Action.PERMIT if verdicts & {"accept", "masquerade", "snat"} else wanted
    if "return" in verdicts:  # in a base chain it is the chain's policy, nft(8)
        wanted = policy.default or Action.CONTINUE
        assert (parsed.target, parsed.returns) == (("", True) if policy.default else (f"{policy_table(policy)} return", False))
    assert parsed.action is wanted, parsed.text
    if "log" in verdicts:  # nft 1.0.6 stops a rule's JSON at some log options
        assert parsed.logged
    assert parsed.comment == rule.get("comment", "")
    targets = [part[key]["target"] for part in rule["expr"] for key in ("jump", "goto") if key in part]
    assert [f"chain {target}" for target in targets] == [name for name in parsed.references if name.startswith("chain ")]


def check_all(listed: str, items: list[dict[str, Any]]) -> int:
    config = parse(listed)
    policies = {policy.name: policy for policy in config.policies}
    check_chains(policies, items)
    by_chain: dict[str, list[dict[str, Any]]] = {}
    for rule in of_kind(items, "rule"):
        by_chain.setdefault(title(rule), []).append(rule)
    checked = 0
    sample = VENDOR.counters(listed, None)
    hits = [] if sample is None else [(hit.policy, hit.hits, hit.bytes) for hit in sample.hits]
    expected_hits = []
    for name, policy in policies.items():
        rules = by_chain.get(name, [])
        positions = plain_rules(policy)
        assert sorted(positions) == list(range(1, len(rules) + 1)), name
        sets = {s["name"]: s for kind in ("set", "map") for s in of_kind(items, kind) if f"{s['family']} {s['table']}" in name}
        for position, rule in enumerate(rules, 1):
            counter = next((part["counter"] for part in rule["expr"] if "counter" in part), None)
            if isinstance(counter, str):
                counter = next(c for c in of_kind(items, "counter") if c["name"] == counter)
            expected_hits.append((name, counter and counter["packets"], counter and counter["bytes"]))
            if not any("vmap" in part for part in rule["expr"]):
                check_rule(positions[position], rule, sets, policy)
                checked += 1
    assert hits in ([], expected_hits)
    assert bool(hits) == any(expected[1] is not None for expected in expected_hits)
    return checked


def test_wide_ruleset_reads_as_nft_reads_it(router: Namespace) -> None:
    listed, items = load(router, WIDE)
    assert check_all(listed, items) > 20
    assert parse(listed).unparsed == ()


def test_listing_with_handles_and_without_counters_gives_the_same_rules(router: Namespace) -> None:
    listed, _ = load(router, WIDE)
    plain = parse(listed)
    handled = parse(router.must("nft -a list ruleset"))
    stateless = parse(router.must("nft -s list ruleset"))
    for other in (handled, stateless):
        assert other.unparsed == ()
        assert [p.name for p in other.policies] == [p.name for p in plain.policies]
        for mine, theirs in zip(plain.policies, other.policies, strict=True):
            assert [(r.match, r.action, r.hit_key) for r in mine.rules] == [(r.match, r.action, r.hit_key) for r in theirs.rules]
    assert all(" handle " in rule.name for policy in handled.policies for rule in policy.rules)


def test_script_and_listing_of_it_read_the_same(router: Namespace) -> None:
    listed, _ = load(router, WIDE)
    script, shown = parse(WIDE), parse(listed)
    assert script.unparsed == ()
    same = {policy.name: [(rule.match.source, rule.match.destination, rule.match.services, rule.action) for rule in policy.rules]
            for policy in shown.policies}  # fmt: skip
    for policy in script.policies:
        assert [(rule.match.source, rule.match.destination, rule.match.services, rule.action) for rule in policy.rules] == same[
            policy.name
        ]


def random_ruleset(rng: random.Random) -> str:
    """Valid rules of the kinds that the model holds exactly, in random order and combination."""

    def address(version: int) -> str:
        bits, top = (32, 2**32) if version == 4 else (128, 2**128)
        length = rng.choice([bits, bits, bits - 8, bits // 2, 7])
        base = rng.randrange(top) >> (bits - length) << (bits - length)
        make = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
        return f"{make(base)}/{length}" if length < bits else str(make(base))

    def rule(family: str) -> str:
        version = {"ip": 4, "ip6": 6}.get(family) or rng.choice([4, 6])
        layer = "ip" if version == 4 else "ip6"
        parts = []
        if rng.random() < 0.3:
            parts.append(f'iifname "{rng.choice(["lo", "eth0", "wan.7"])}"')
        for side in ("saddr", "daddr"):
            if rng.random() < 0.6:
                many = ", ".join(dict.fromkeys(address(version) for _ in range(1)))
                parts.append(f"{layer} {side} {rng.choice(['', '!= '])}{many}")
        if rng.random() < 0.6:
            low = rng.randrange(1, 60000)
            ports = rng.choice(
                [str(low), f"{low}-{low + rng.randrange(1, 5000)}", f"{{ {low}, {low + 7}, {low + 100}-{low + 110} }}"]
            )
            parts.append(f"{rng.choice(['tcp', 'udp', 'sctp'])} dport {rng.choice(['', '!= '])}{ports}")
        if rng.random() < 0.4:
            parts.append(f"counter packets {rng.randrange(10**12)} bytes {rng.randrange(10**15)}")
        if rng.random() < 0.2:
            parts.append(f'log prefix "p{rng.randrange(99)} "')
        parts.append(
            rng.choice(["accept", "drop", "reject", "jump side", "return"]) if rng.random() < 0.9 or not parts else "continue"
        )
        if rng.random() < 0.2:
            parts.append(f'comment "note {rng.randrange(99)} {{,;}}"')
        return " ".join(parts)

    text = []
    for number in range(rng.randrange(1, 4)):
        family = rng.choice(["ip", "ip6", "inet"])
        rules = "\n".join(rule(family) for _ in range(rng.randrange(1, 12)))
        head = (
            f"type filter hook {rng.choice(['input', 'forward', 'output'])} priority {rng.randrange(-400, 400)}; policy accept;"
        )
        text.append(f"table {family} t{number} {{\nchain side {{ }}\nchain main {{ {head}\n{rules}\n}}\n}}")
    return "\n".join(text)


@pytest.mark.parametrize("seed", range(12))
def test_random_rulesets_read_as_nft_reads_them(router: Namespace, seed: int) -> None:
    text = random_ruleset(random.Random(seed))
    listed, items = load(router, text)
    assert check_all(listed, items) > 0
    assert parse(listed).unparsed == ()
