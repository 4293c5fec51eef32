"""NVUE and the files of Cumulus Linux into the domain model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.blocks import Line, Lines, read_lines
from policyhub.vendorkit.ledger import IgnoreList, LineLedger, is_sensitive
from policyhub.vendorkit.lexing import score
from policyhub.vendorkit.xtables.build import build
from policyhub.vendorkit.xtables.facts import Context
from policyhub.vendorkit.xtables.ruleset import Ruleset
from policyhub.vendorkit.xtables.sets import SetTable
from policyhub.vendors.nvidia_cumulus.access import read_lists
from policyhub.vendors.nvidia_cumulus.files import read_rules, read_settings
from policyhub.vendors.nvidia_cumulus.interfaces import interfaces, routes
from policyhub.vendors.nvidia_cumulus.qos import read_qos
from policyhub.vendors.nvidia_cumulus.tree import Branch, Reading, read_nvue

NAME = "nvidia_cumulus"
PACKAGE = "policyhub.vendors.nvidia_cumulus"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^(?:\S{1,64}[@:]\S{0,128}[#$>]\s{0,9})?nv (set|unset) ", 0.9),
    (r"nvue-api-version|version: Cumulus Linux|Cumulus Linux", 0.9),
    (r"^- (header|set):\s*$", 0.6),
    (r"^traffic\.(packet_priority_source_set|cos_\d\.)", 0.9),
    (
        r"^(pfc|ecn_red|egress_sched|shaping|source|remark)\.port_group_list\s*=|^default_(ecn_red_conf|egress_sched)\.|^cos_egr_queue\.",
        0.9,
    ),
    (r"^\[(iptables|ip6tables|ebtables)\]$", 0.9),
)
HOST = re.compile(r"^(?:\S*)?[\w.-]+@([\w.-]+):[^#$]*[#$]")
READ_OF_INTERFACE = (("ip", "address"), ("ip", "vrf"), ("link", "state"), ("link", "speed"), ("link", "mtu"), ("bond", "member"))
QOS_READ = frozenset({
    "mapping", "egress-queue-mapping", "egress-scheduler", "egress-shaper", "congestion-control", "pfc", "pfc-watchdog",
    "remark", "roce", "traffic-pool", "advance-buffer-config", "link-pause", "headroom", "shared-headroom-pool",
})  # fmt: skip


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    ledger = LineLedger()
    kept = (line for line in ledger.without_long(lines) if line.text and not line.text.startswith("#"))
    ruleset = Ruleset()
    files_root = Branch()
    rest = read_rules(kept, ruleset, ledger)
    rest = read_settings(rest, files_root, ledger)
    reading = read_nvue(rest, text, ledger)
    _merge(reading.root, files_root)
    built = build(ruleset, Context(SetTable()), ledger)
    lists = read_lists(reading.root, ledger, lines)
    qos = read_qos(reading.root)
    _book(reading, ledger, lines)
    ledger.settle_lines(lines, IGNORED, lambda line: line.startswith("#"))
    return DeviceConfig(
        platform=NAME,
        hostname=reading.root.value("system", "hostname") or _host(lines),
        lines=len(lines),
        policies=(*lists.policies, *built.policies),
        qos_policies=(*lists.qos_policies, *qos.policies, *built.qos_policies),
        dscp_maps=tuple(qos.dscp_maps),
        trusts=tuple(qos.trusts),
        interfaces=interfaces(reading.root),
        ignored=ledger.ignored_lines,
        unparsed=ledger.unparsed_lines,
        nat_rules=(*lists.nat_rules, *built.nat_rules),
        routes=routes(reading.root),
        evaluation=built.evaluation,
        losslessness=tuple(qos.losslessness),
        qos_maps=tuple(qos.maps),
        version=reading.header.get("version", "").removeprefix("Cumulus Linux "),
        special=ledger.special_lines,
    )


def _host(lines: Iterable[Line]) -> str:
    return next((found[1] for line in lines if (found := HOST.search(line.text))), "")


def _merge(root: Branch, other: Branch) -> None:
    stack = [(root, other)]
    while stack:
        into, source = stack.pop()
        for word, child in source.children.items():
            known = into.children.get(word)
            if known is None:
                into.adopt(word, child)
            else:
                known.name_on(child.lines)
                stack.append((known, child))


def _book(reading: Reading, ledger: LineLedger, by_number: Lines) -> None:
    """A line of NVUE is understood when its branch is read; the words from the root stand for it on the ignore list."""
    for path, lines in _paths(reading.root, ledger):
        wanted = [number for number in lines if reading.nvue_lines.is_understood(number) and not ledger.is_booked(number)]
        if not wanted:
            continue
        if _is_read(path):
            ledger.understood(*wanted)
            continue
        words = " ".join(path) + " "
        for number in wanted:
            line = by_number.at(number)
            if IGNORED.takes(words) and not is_sensitive(line.text):  # what parts words may stand inside one
                ledger.ignore(Line(number, 0, "x"))
            elif IGNORED.excuses(words.strip()):
                ledger.excuse(number)
            else:
                ledger.unparsed(line, "the branch is not understood")


def _paths(root: Branch, ledger: LineLedger) -> list[tuple[tuple[str, ...], Sequence[int]]]:
    """Deepest words first, so that a line is judged by the longest path that it names. Lists are read as a whole."""
    found: list[tuple[tuple[str, ...], Sequence[int]]] = []
    stack: list[tuple[tuple[str, ...], Branch]] = [((), root)]
    while stack:
        path, branch = stack.pop()
        if path == ("acl",):
            ledger.understood(*branch.all_lines())
            continue
        if path:
            found.append((path, branch.lines))
        stack.extend(((*path, word), child) for word, child in branch.children.items())
    found.sort(key=lambda pair: -len(pair[0]))
    return found


def _is_read(path: tuple[str, ...]) -> bool:
    if path[0] == "acl" or path[:3] == ("system", "control-plane", "acl") or path[:2] == ("system", "hostname"):
        return True
    if path[0] == "qos":
        return len(path) < 2 or path[1] in QOS_READ
    if path[0] == "interface":
        if len(path) < 3:
            return True
        if path[2] == "qos":
            return len(path) < 4 or path[3] in QOS_READ
        return path[2] in ("acl", "description", "type") or path[2:4] in READ_OF_INTERFACE
    if path[0] == "vrf":
        return len(path) < 3 or path[2:4] == ("router", "static")
    return len(path) == 1
