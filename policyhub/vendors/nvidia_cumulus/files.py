"""Files of Cumulus Linux: qos_features.conf (before 5.0 traffic.conf), qos_infra.conf, and ACL files of policy.d."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.xtables.options import split_words
from policyhub.vendorkit.xtables.ruleset import Entry, Ruleset, apply_command
from policyhub.vendors.nvidia_cumulus.tree import DEFAULT_GLOBAL, Branch

SETTING = re.compile(r"^([A-Za-z][\w-]*(?:\.[\w-]+)+)\s*=\s*(.*?)\s*$")
SECTION = re.compile(r"^\[(iptables|ip6tables|ebtables)\]$")
VARIABLE = re.compile(r"^([A-Z][A-Z0-9_]*)\s*=\s*(\S.*)$")
RULE = re.compile(r"^(?:-t \w+\s+)?-[AIP]\s")
SOURCES = {"8021p": "pcp", "dscp": "dscp", "802.1p": "pcp"}
# what groups of ports are named below, and what NVUE calls it
FEATURES = {
    "source": "mapping", "remark": "remark", "pfc": "pfc", "ecn_red": "congestion-control", "egress_sched": "egress-scheduler",
    "shaping": "egress-shaper", "pfc_watchdog": "pfc-watchdog",
}  # fmt: skip
# settings of the same files that hold buffers and hashing only
WITHOUT_QOS = (
    "link_pause", "flow_control", "ingress_service_pool", "egress_service_pool", "port", "priority_group", "egr_queue",
    "service_pool", "ingress_buffer", "egress_buffer", "sflow", "forwarding", "hash_config", "lag_hash_config",
    "symmetric_hashing", "stp", "hal", "ptp_shaping", "host", "interface", "system", "sysctl", "ecmp_max_paths", "status",
    "sat", "priority_group_0", "reserved", "resilient_hash",
)  # fmt: skip


def _list(text: str) -> list[str]:
    """`[1, 2]`, `swp1-swp4,swp6`, `3`."""
    return [part.strip() for part in text.strip("[]").split(",") if part.strip()]


def ports(text: str) -> list[str]:
    """`swp1-swp4` and `swp1-4` name four ports; `allports` is everything."""
    return ["" if part == "allports" else re.sub(r"^([a-z]+)(\d+)-\1(\d+)$", r"\1\2-\3", part) for part in _list(text)]


class Settings:
    """Dotted settings put into the tree of NVUE words."""

    def __init__(self, root: Branch) -> None:
        self.root = root
        self.profiles: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self.priorities: dict[str, dict[str, list[str]]] = {}
        self.congestion_groups: set[str] = set()

    def read(self, name: str, value: str, line: int) -> None:
        """Raises NotUnderstood for a name that is not documented."""
        head, *rest = name.split(".")
        if head in self.congestion_groups:  # these groups alone stand without the name of their feature in front
            self._group("ecn_red", head, rest, value, line)
        elif head == "traffic":
            self._traffic(DEFAULT_GLOBAL, rest, value, line)
        elif head in FEATURES and len(rest) > 1:
            self._group(head, rest[0], rest[1:], value, line)
        elif head in FEATURES and rest == ["port_group_list"]:
            self.congestion_groups.update(_list(value) if head == "ecn_red" else ())
        elif head == "default_ecn_red_conf":
            self._congestion(DEFAULT_GLOBAL, rest, value, line)
        elif head == "default_egress_sched":
            self._scheduler(DEFAULT_GLOBAL, rest, value, line)
        elif head == "cos_egr_queue" and len(rest) == 2 and rest[0].startswith("cos_"):
            if rest[1] == "uc":
                self._put(
                    line, "qos", "egress-queue-mapping", DEFAULT_GLOBAL, "switch-priority", rest[0][4:], "traffic-class", value
                )
        else:
            raise NotUnderstood("the setting is not understood")

    def _put(self, line: int, *path: str) -> None:
        self.root.put(list(path), line)

    def _traffic(self, profile: str, rest: list[str], value: str, line: int) -> None:
        if rest == ["packet_priority_source_set"] or rest == ["port_packet_priority_source_set"]:
            kinds = {SOURCES.get(part, part) for part in _list(value)}
            trust = "both" if kinds == {"pcp", "dscp"} else "l3" if "dscp" in kinds else "l2" if "pcp" in kinds else "port"
            self._put(line, "qos", "mapping", profile, "trust", trust)
        elif rest in (["port_default_priority"], ["packet_priority_remark_set"], ["remark_packet_priority"]):
            self._put(line, "qos", "mapping", profile, rest[0], value)
        elif (
            len(rest) == 3
            and rest[0].startswith("cos_")
            and rest[1] in ("priority_source", "packet_priorities", "priority_remark")
        ):
            self._priority(profile, rest[0][4:], rest[1], rest[2], value, line)
        else:
            raise NotUnderstood("the setting is not understood")

    def _priority(self, profile: str, level: str, kind: str, field: str, value: str, line: int) -> None:
        word = SOURCES.get(field)
        if word is None:
            raise NotUnderstood(f"{field!r} is not 8021p or dscp")
        for number in _list(value):
            if kind == "priority_remark":
                self._put(line, "qos", "remark", profile, "switch-priority", level, word, number)
            else:
                self._put(line, "qos", "mapping", profile, word, number, "switch-priority", level)

    def _group(self, head: str, group: str, rest: list[str], value: str, line: int) -> None:
        feature = FEATURES[head]
        if rest == ["port_set"]:
            for port in ports(value):
                if port and head == "pfc_watchdog":
                    self._put(line, "interface", port, "qos", feature, "state", "enable")
                elif port and group != DEFAULT_GLOBAL:
                    self._put(line, "interface", port, "qos", feature, "profile", group)
                elif not port:
                    self.profiles.setdefault((feature, group), []).append((port, line))
            return
        profile = DEFAULT_GLOBAL if (feature, group) in self.profiles else group
        if head in ("source", "remark"):
            self._traffic(profile, rest, value, line)
        elif head == "pfc":
            self._pfc(profile, rest, value, line)
        elif head == "ecn_red":
            self._congestion(profile, rest, value, line)
        elif head == "egress_sched":
            self._scheduler(profile, rest, value, line)
        elif head == "shaping":
            self._shaper(profile, rest, value, line)
        else:
            raise NotUnderstood("the setting is not understood")

    def _pfc(self, profile: str, rest: list[str], value: str, line: int) -> None:
        if rest == ["cos_list"]:
            for number in _list(value):
                self._put(line, "qos", "pfc", profile, "switch-priority", number)
        elif rest and rest[0] in ("tx_enable", "rx_enable"):
            self._put(line, "qos", "pfc", profile, rest[0][:2], "enable" if value == "true" else "disable")
        elif rest and rest[0] in ("port_buffer_bytes", "xoff_size", "xon_delta", "cable_length", "xon_size"):
            self._put(line, "qos", "pfc", profile, rest[0], value)
        else:
            raise NotUnderstood("the setting is not understood")

    def _congestion(self, profile: str, rest: list[str], value: str, line: int) -> None:
        known = {
            "min_threshold_bytes": "min-threshold", "max_threshold_bytes": "max-threshold", "probability": "probability",
            "ecn_enable": "ecn", "red_enable": "red",
        }  # fmt: skip
        if rest == ["egress_queue_list"] or rest == ["cos_list"]:
            self.priorities.setdefault(profile, {})["queues"] = _list(value)
            for number in _list(value):
                self._put(line, "qos", "congestion-control", profile, "traffic-class", number)
        elif rest and rest[0] in known:
            if value in ("true", "false"):
                value = "enable" if value == "true" else "disable"
            for number in self.priorities.get(profile, {}).get("queues", ["0"]):
                self._put(line, "qos", "congestion-control", profile, "traffic-class", number, known[rest[0]], value)
        else:
            raise NotUnderstood("the setting is not understood")

    def _scheduler(self, profile: str, rest: list[str], value: str, line: int) -> None:
        if len(rest) != 2 or not rest[0].startswith("egr_queue_") or rest[1] not in ("bw_percent", "mode"):
            raise NotUnderstood("the setting is not understood")
        number = rest[0].removeprefix("egr_queue_")
        word = "mode" if rest[1] == "mode" else "bw-percent"
        self._put(line, "qos", "egress-scheduler", profile, "traffic-class", number, word, value)

    def _shaper(self, profile: str, rest: list[str], value: str, line: int) -> None:
        values = _list(value)
        if rest == ["port", "shaper"] and values:
            self._put(line, "qos", "egress-shaper", profile, "port-max-rate", values[-1])
        elif len(rest) == 2 and rest[0].startswith("egr_queue_") and rest[1] == "shaper" and len(values) == 2:
            number = rest[0].removeprefix("egr_queue_")
            for word, rate in zip(("min-rate", "max-rate"), values, strict=True):
                self._put(line, "qos", "egress-shaper", profile, "traffic-class", number, word, rate)
        else:
            raise NotUnderstood("the setting is not understood")


def read_settings(lines: Iterable[Line], root: Branch, ledger: LineLedger) -> Iterator[Line]:
    """Lines that are no settings."""
    settings = Settings(root)
    for line in lines:
        found = SETTING.match(line.text)
        if found is None:
            yield line
            continue
        head = found[1].partition(".")[0]
        if head in WITHOUT_QOS:
            ledger.understood(line.number)
            continue
        with ledger.booking(line):
            settings.read(found[1], found[2], line.number)


def read_rules(lines: Iterable[Line], ruleset: Ruleset, ledger: LineLedger) -> Iterator[Line]:
    """`[iptables]` sections of policy.d with their variables. Lines that belong to none are given back."""
    section = ""
    variables: dict[str, str] = {}
    for line in lines:
        opened = SECTION.match(line.text)
        variable = VARIABLE.match(line.text)
        if opened:
            section = opened[1]
            ledger.understood(line.number)
        elif (variable and not section) or (section and variable):
            variables[variable[1]] = variable[2].strip("\"'")
            ledger.understood(line.number)
        elif section and RULE.match(line.text):
            _rule(line, section, variables, ruleset, ledger)
        else:
            yield line


def _rule(line: Line, section: str, variables: dict[str, str], ruleset: Ruleset, ledger: LineLedger) -> None:
    if section == "ebtables":
        ledger.unparsed(line, "rules of ebtables are not modelled")
        return
    text = re.sub(r"\$\{?([A-Z][A-Z0-9_]*)\}?", lambda found: variables.get(found[1], found[0]), line.text)
    with ledger.booking(line):
        apply_command(ruleset, split_words(text), 6 if section == "ip6tables" else 4, Entry((line.number,), line.text))
