"""`display current-configuration` of Huawei USG into the domain model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.vendorkit.blocks import Block, read_lines
from policyhub.vendorkit.ledger import IgnoreList
from policyhub.vendorkit.lexing import NotUnderstood, score
from policyhub.vendorkit.vrp_lines import name_behind, read_sections
from policyhub.vendors.huawei_usg import bandwidth, legacy, lists, nat, operands, security, system
from policyhub.vendors.huawei_usg.counters import PROMPT, is_output, is_row
from policyhub.vendors.huawei_usg.reading import PACKAGE, Reading

NAME = "huawei_usg"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^ *security-policy\s*$", 0.6),
    (r"^ *nat-policy\s*$", 0.5),
    (r"^ *ip (address|service)-set \S.* type (object|group)", 0.6),
    (r"^ *firewall zone (name |local|trust|untrust|dmz)", 0.4),
    (r"^ *(set priority \d|add interface \S)", 0.3),
    (r"^ *nat server (?!protocol|global)\S.* inside \S", 0.5),
    (r"^ *(destination-)?nat address-group \S+", 0.2),
    (r"^ *section (\d+ )?\d+\.\d+\.\d+\.\d+ \d", 0.3),
    (r"^HRP_[AMS][<\[]", 0.6),
    (r"^ *hrp (enable|interface|mirror|track|standby)", 0.4),
    (r"^RULE ID +RULE NAME +STATE +ACTION", 0.9),
    (r"%%01(POLICY|SECLOG)/\d/", 0.9),
    (r"^ *service-manage \S+", 0.6),
    (r"^ *traffic-policy\s*$", 0.5),
    (r"^ *(period-range|absolute-range) \d", 0.5),
    (r"^ *(vsys (name|enable)|switch vsys) ?", 0.6),
    (r"^ *(domain-set name|geo-location user-defined) ", 0.5),
    (r"^ *rule name \S", 0.2),
    (r"^ *(source|destination)-zone \S", 0.1),
    (r"^ *(user-manage|right-manager|sysname USG|api$|profile type (av|ips|url-filter) )", 0.4),
    (r"^ *(firewall (packet-filter|detect|defend|session|mac-binding)) ", 0.3),
    (r"^ *sysname \S", 0.2),
    (r"^[<\[][\w.-]+[>\]] ?dis\w* (security-policy rule|nat-policy rule|firewall session|zone)", 0.6),
    (
        r"^ *(security-policy ip|security-zone name|object-group (ip|service)|object-policy |nat global-policy)",
        -1.0,
    ),
    (r"^ *(set (rulebase|zone|security|address)|config firewall|rule id \d)", -1.0),
)
HANDLERS: dict[str, Callable[[Reading, Block], None]] = {
    "interface": system.read_interface,
    "firewall": system.read_zone,
    "vsys": system.read_vsys,
    "switch": system.read_switch,
    "time-range": system.read_time_range,
    "acl": system.read_acl,
    "ipv6": system.read_route,
    "user-interface": system.read_lines_view,
    "ipsec": system.read_ipsec,
    "traffic": system.read_traffic,
    "domain-set": operands.read_domain_set,
    "geo-location": operands.read_region,
    "geo-location-set": operands.read_region,
    "destination-nat": nat.read_group,
    **dict.fromkeys(
        ("snmp-agent", "telnet", "ssh", "stelnet", "sftp", "ftp", "http", "https", "ntp-service", "web-manager", "api"),
        system.read_service,
    ),
}
PARENTS = ("security-policy", "nat-policy", "traffic-policy", *lists.PURPOSES)
LEAVES = (
    "source-", "destination-", "service ", "action ", "application ", "user ", "time-range ", "description ", "disable",
    "policy logging", "session logging", "parent-group ", "egress-interface ", "ingress-interface ", "profile ", "url-category ",
)  # fmt: skip
NOT_OURS = ("not modelled", "not understood", "may hold a rule")  # of a header that the lists may still take


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def adopts(parent: str, child: str) -> bool:
    """Lines of a text that lost its indentation."""
    if parent in PARENTS:
        return child.startswith(("rule name ", "default action ", "group name ", "profile "))
    if parent.startswith("rule name "):
        return child.startswith(LEAVES)
    if parent.startswith(("ip address-set ", "ip service-set ")):
        return child.startswith(("address ", "service ", "description "))
    if parent.startswith("domain-set "):
        return child.startswith("add domain ")
    return parent.startswith("firewall zone ") and child.startswith(("set priority ", "add interface "))


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = Reading()
    kept = []
    for line in reading.ledger.without_long(lines):
        if PROMPT.match(line.text) or is_output(line.text) or is_row(line.text):
            reading.ledger.understood(line.number)
        else:
            kept.append(line)
    blocks = read_sections(kept, adopts)
    count = len(lines)
    del lines, kept  # a large text is held once, in the blocks
    for block in blocks:
        _dispatch(reading, block)
    _settle(reading)
    reading.ledger.settle(blocks, IGNORED)
    reading.evaluation += _evaluation(reading)
    return reading.config(NAME, count)


def _dispatch(reading: Reading, block: Block) -> None:
    text = block.text.lower()
    word = text.split()[0]
    try:
        if _waits(reading, block, text, word):
            pass
        elif word == "sysname" and " " in text:
            reading.hostname = reading.hostname or name_behind(block.text, "sysname")
        elif text.startswith(("!software version ", "software version ")):
            reading.version = reading.version or block.text.split(" ", 2)[2].strip()
        elif text.startswith(("ip address-set ", "ip service-set ")):
            operands.read_set(reading, block)
        elif text.startswith("nat address-group "):
            nat.read_group(reading, block)
        elif text.startswith("ip route-static "):
            system.read_route(reading, block)
        elif text.startswith("firewall packet-filter default "):
            legacy.read_default(reading, block)
        elif word in HANDLERS:
            HANDLERS[word](reading, block)
        else:
            return
        reading.ledger.understood(block.number)
    except NotUnderstood as reason:
        if str(reason) not in NOT_OURS or not (IGNORED.takes(block.text) or IGNORED.excuses(block.text)):
            reading.ledger.unparsed(block.line, str(reason))


def _waits(reading: Reading, block: Block, text: str, word: str) -> bool:
    """Rule lists wait until all names are known."""
    now = reading.now
    if text == "security-policy":
        now.security.append(block)
    elif text == "nat-policy":
        now.nat.append(block)
    elif text == "traffic-policy":
        now.bandwidth.append(block)
    elif text.startswith("nat server "):
        now.servers.append(block)
    elif text.startswith("policy interzone "):
        now.interzone.append(block)
    elif word in lists.PURPOSES and " " not in text:
        now.lists.append(block)
    else:
        return False
    return True


def _settle(reading: Reading) -> None:
    """Everything that refers to names."""
    operands.settle_objects(reading)
    for vsys in reading.systems.values():
        if vsys.security:
            reading.policies.append(security.read_policy(reading, vsys, vsys.security))
        for block in vsys.interzone:
            try:
                reading.policies.append(legacy.read_interzone(reading, vsys, block))
            except NotUnderstood as reason:
                reading.ledger.unparsed(block.line, str(reason))
        if vsys.default_rules:
            reading.policies.append(legacy.defaults(vsys))
        reading.policies += [policy for policy in (lists.read(reading, vsys, block) for block in vsys.lists) if policy.rules]
        reading.policies += system.acl_policies(reading, vsys)
        for block in vsys.servers:
            try:
                reading.nat_rules.append(nat.read_server(reading, vsys, block))
            except NotUnderstood as reason:
                reading.ledger.unparsed(block.line, str(reason))
        reading.nat_rules += nat.read_rules(reading, vsys, vsys.nat)
        shaped = bandwidth.read(reading, vsys, vsys.bandwidth)
        reading.qos_policies += [shaped] if shaped else []
    reading.policies += reading.local
    reading.qos_policies += reading.mqc.read()
    for at, interface in enumerate(reading.interfaces):
        context = interface.context or reading.assigned.get(interface.name, "")
        zone = reading.systems[context].zone_of.get(interface.name, "") if context in reading.systems else ""
        zone = zone or reading.systems[""].zone_of.get(interface.name, "")
        reading.interfaces[at] = replace(interface, zone=zone, context=context)


def _evaluation(reading: Reading) -> list[Stage]:
    stages: list[Stage] = []
    for vsys in reading.systems.values():
        if vsys.security:
            stages += [
                Stage(StageKind.DESTINATION_NAT, context=vsys.name),
                Stage(StageKind.FILTER, (vsys.prefix + security.NAME,), Seen.TRANSLATED, vsys.name),
                Stage(StageKind.SOURCE_NAT, context=vsys.name),
            ]
    return stages
