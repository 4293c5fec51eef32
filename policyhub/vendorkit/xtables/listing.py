"""Rows of `iptables -L`: columns, then words that each match and target prints in its own way (iptables 1.2 to 1.8)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from policyhub.domain.services import ICMP as IPV4_ICMP
from policyhub.domain.services import ICMPV6
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.xtables.facts import NAMES, Facts
from policyhub.vendorkit.xtables.options import dscp_value

COUNT = r"\d{1,24}[KMGTP]?"
COUNTED = re.compile(rf"^(?P<pkts>{COUNT})\s+(?P<bytes>{COUNT})\s+(?P<rest>\S.*)$")
OPTIONS = frozenset({"--", "-f", "!f"})
SCALE = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
NOT_LISTED = "interfaces are not listed"
PORTS = re.compile(r"(?:^|(?<=\s))(?:(?:tcp|udp|sctp|dccp|udplite)\s)?\s*(spts?|dpts?):(!?)([\w-]+(?::[\w-]+)?)")
MULTIPORT = re.compile(r"(?:^|(?<=\s))multiport (sports|dports|ports) +(! ?)?(\S+)")
ICMP = re.compile(r"(?:^|(?<=\s))(?:ipv6-)?icmp(?:v6)? ?(!?)type !?(\S+)(?: code (\d+)(?:-\d+)?)?")
ICMP_NAME = re.compile(r"(?:^|(?<=\s))(?:ipv6-)?icmp(?:v6)? (!?)([a-z][a-z-]{2,40})(?=\s|$)")  # without -n
RANGE = re.compile(r"(?:^|(?<=\s))(source|destination) IP range (! )?(\S+-\S+)")
SETS = re.compile(r"(?:^|(?<=\s))(! )?(?:match-)?set (\S+) ((?:src|dst)(?:,(?:src|dst))*)")
DSCP = re.compile(r"(?:^|(?<=\s))DSCP match (!)?(0x[0-9a-fA-F]+)")
GLUED = re.compile(r"(\d)flags:")  # iptables 1.4 forgot the blank
COMMENT = re.compile(r"/\* (.*?) \*/")
MODULE = re.compile(
    r"(?<=\s)(?<!!\s)(?=(?:! )?(?:state |ctstate |MAC |tcp ?flags:|(?<!tcp )flags: ?|limit: |"
    r"recent: |owner |ADDRTYPE |PKTTYPE |mark match|connmark match|STRING |TIME |"
    r"policy match|length |TTL |ctorig|ctreply|ctproto |ctdir |ctstatus |PHYSDEV |"
    r"rpfilter|statistic |u32 |#conn |helper match|UNTRACKED|"
    r"multiport ports|HL match|tos match|TOS match))"
)
# what targets print behind the matches
TARGET_WORDS = re.compile(
    r"(?:^|(?<=\s))(reject-with \S+|LOG flags .*|NFLOG .*|nflog-.*|ULOG .*|LOG level .*|to:\S+.*|masq ports: \S+.*|"
    r"random(?:-fully)?|"
    r"redir ports \S+.*|DSCP set \S+|"
    r"MARK (?:set|xset|and|or) \S+.*|TOS set \S+|CLASSIFY set \S+|CONNMARK \S.*|TCPMSS .*|"
    r"NOTRACK|CT .*|TTL set.*|NFQUEUE .*|queue .*|"
    r"add-set \S+ \S+.*|del-set \S+ \S+.*|SYNPROXY .*|TEE .*|TPROXY .*|AUDIT .*|CHECKSUM .*|SECMARK .*|persistent|prefix .*)$"
)


@dataclass(frozen=True, slots=True)
class Row:
    """Columns of one rule. packets None: the listing has no counters. inside/outside "" when they are not listed."""

    target: str
    protocol: str
    options: str
    inside: str
    outside: str
    source: str
    destination: str
    extra: str
    packets: int | None = None
    bytes: int | None = None


def count(text: str) -> int:
    return int(text[:-1]) * SCALE[text[-1]] if text[-1] in SCALE else int(text)


def read_row(text: str, is_verbose: bool, is_numbered: bool) -> Row:
    """A rule without a target has blanks in that column, and ip6tables had blanks under `opt`. Raises NotUnderstood."""
    packets = octets = None
    rest = text.strip()
    if is_numbered:
        rest = rest.partition(" ")[2].strip()
    if is_verbose:
        found = COUNTED.match(rest)
        if found is None:
            raise NotUnderstood("packets and bytes are expected")
        packets, octets, rest = count(found["pkts"]), count(found["bytes"]), found["rest"]
    words = rest.split(None, 4)
    addresses = 2 if is_verbose else 0  # columns between opt and source
    has_options = len(words) > 1 and (words[1] in OPTIONS or (len(words) > 2 and words[2] in OPTIONS))
    if has_options:
        has_target = words[1] not in OPTIONS
    else:
        before = rest.split(None, addresses + 3)
        has_target = len(before) > addresses + 2 and not _is_address(before[addresses + 1])
    columns = has_target + 1 + has_options + addresses + 2
    fields = rest.split(None, columns)
    if len(fields) < columns:
        raise NotUnderstood("a column is missing")
    extra = fields[columns] if len(fields) > columns else ""
    target = fields.pop(0) if has_target else ""
    protocol = fields.pop(0)
    options = fields.pop(0) if has_options else ""
    inside, outside = (fields[0], fields[1]) if is_verbose else ("", "")
    source, destination = fields[addresses], fields[addresses + 1]
    return Row(target, protocol, options, inside, outside, source, destination, extra, packets, octets)


def _is_address(word: str) -> bool:
    return word in ("anywhere", "localhost") or "/" in word or ":" in word


def read_listed(facts: Facts, row: Row) -> Facts:
    """The columns and the rest of the row. Raises NotUnderstood."""
    facts.target, facts.is_goto = row.target, "[goto]" in row.extra
    for side, value in (
        ("-p", row.protocol),
        ("-s", row.source),
        ("-d", row.destination),
        ("-i", row.inside),
        ("-o", row.outside),
    ):
        plain = value.removeprefix("!")
        if side == "-p" and plain not in ("all", "0"):
            facts.set_protocol(plain, plain != value)
        elif side in ("-s", "-d"):
            facts.set_address(side, plain, plain != value)
        elif side in ("-i", "-o") and plain:
            facts.set_interface(side, plain, plain != value)
    if not row.inside:
        facts.conditions.append(NOT_LISTED)
    if "f" in row.options:
        facts.conditions.append("! -f" if "!" in row.options else "-f")
    extra = GLUED.sub(r"\1 flags:", row.extra.replace("[goto]", ""))
    comment = COMMENT.search(extra)
    if comment:
        facts.comment = comment[1]
        extra = extra[: comment.start()] + " " + extra[comment.end() :]
    _rest(facts, extra.strip())
    return facts


def _rest(facts: Facts, text: str) -> None:
    target = TARGET_WORDS.search(text)
    if target and (facts.target in OWN_WORDS or not facts.target):
        facts.target_words = target[1].split()
        text = text[: target.start()]
    facts.middle = text.strip()
    pieces: list[str] = []
    at = 0
    for found in sorted(
        (m for pattern in (PORTS, MULTIPORT, ICMP, ICMP_NAME, RANGE, SETS, DSCP) for m in pattern.finditer(text)),
        key=lambda m: m.start(),
    ):
        if found.start() < at or not _exact(facts, found):
            continue
        pieces.append(text[at : found.start()])
        at = found.end()
    pieces.append(text[at:])
    for piece in pieces:
        _conditions(facts, piece)


OWN_WORDS = frozenset({
    "REJECT", "LOG", "NFLOG", "ULOG", "SNAT", "DNAT", "MASQUERADE", "REDIRECT", "NETMAP", "SAME", "DSCP", "MARK", "TOS",
    "CLASSIFY", "CONNMARK", "TCPMSS", "NOTRACK", "CT", "TTL", "HL", "NFQUEUE", "QUEUE", "SET", "SYNPROXY", "TEE", "TPROXY",
    "AUDIT", "CHECKSUM", "SECMARK",
})  # fmt: skip


def _exact(facts: Facts, found: re.Match[str]) -> bool:
    """Whether the words are modelled; those that are not stay in the text."""
    pattern = found.re
    if pattern is PORTS:
        facts.set_ports("--sport" if found[1].startswith("s") else "--dport", found[3], bool(found[2]))
    elif pattern is MULTIPORT:
        if found[1] == "ports":
            return False
        value, negated = found[3], bool(found[2])
        if value.startswith("!"):
            value, negated = value[1:], True
        facts.set_ports(f"--{found[1][:-1]}", value, negated)
    elif pattern is ICMP:
        facts.set_icmp(found[2] + (f"/{found[3]}" if found[3] else ""), bool(found[1]))
    elif pattern is ICMP_NAME:
        if NAMES.icmp_type(found[2], ICMPV6 if facts.version == 6 else IPV4_ICMP) is None:
            return False
        facts.set_icmp(found[2], bool(found[1]))
    elif pattern is RANGE:
        facts.set_range("-s" if found[1] == "source" else "-d", found[3], bool(found[2]))
    elif pattern is DSCP:
        facts.set_dscp(dscp_value(found[2]), bool(found[1]))
    else:
        facts.use_set(found[2], found[3], bool(found[1]))
    return True


def _conditions(facts: Facts, text: str) -> None:
    text = text.strip()
    if not text or text in ("tcp", "udp", "sctp", "udplite", "dccp"):
        return
    for part in MODULE.split(" " + text):
        words = part.strip()
        if words.startswith("TIME"):
            facts.schedule = words
        if words and words not in ("tcp", "udp"):
            facts.conditions.append(words)
