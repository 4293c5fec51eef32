"""`display current-configuration` (and `display acl`) of Huawei VRP into the domain model."""

from __future__ import annotations

from collections.abc import Callable

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.blocks import Block, read_blocks, read_lines
from policyhub.vendorkit.ios_lines import excuse_paths
from policyhub.vendorkit.ledger import IgnoreList, is_sensitive
from policyhub.vendorkit.lexing import NotUnderstood, Words, score
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendorkit.vrp_lines import static_route
from policyhub.vendors.huawei_vrp import acl, interfaces, lossless, nat, qos, queues, segments
from policyhub.vendors.huawei_vrp.reading import PACKAGE, Reading
from policyhub.vendors.huawei_vrp.statistics import output_lines

NAME = "huawei_vrp"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^!Software Version V\d+R\d+", 0.9),
    (r"^ *sysname \S+", 0.5),
    (r"^ *acl (ipv6 )?(number|name) \S+", 0.5),
    (r"^ *rule \d+ (permit|deny)\b", 0.2),
    (r"^ *traffic (classifier|behavior) \S+", 0.4),
    (r"^ *traffic-policy \S+ (inbound|outbound)", 0.4),
    (r"^ *(undo )?traffic-filter ((vlan \d+ )?)(inbound|outbound) acl", 0.5),
    (r"^ *(user-interface|info-center|stp edged-port|port link-type|eth-trunk \d)", 0.3),
    (r"^(Basic|Advanced|Ethernet frame|L2) (IPv6 )?ACL6? \S+.*, (\d+|no) rules?", 0.7),
    (r"^(Acl|ACL)'s step is \d+", 0.5),
    (r"^ *qos (queue|pq|drr|wrr|lr|wfq|schedule-profile|group)\b", 0.3),
    (r"^ *(dcb pfc|diffserv domain|drop-profile|trust upstream|port-queue \S+ (wfq|pq))", 0.4),
    (r"^ *ip (ip-prefix|ipv6-prefix) \S+ index \d+", 0.5),
    (r"^ *vlan batch \d", 0.4),
    (r"^ *interface (Vlanif|XGigabitEthernet|Eth-Trunk|\d+GE|MEth|NULL0)", 0.3),
    (r"^<[\w.-]+> ?display ", 0.5),
    (r"^ *Traffic policy( (inbound|outbound))?: ?\S+", 0.5),
    (r"^ *Item +Packets +Bytes", 0.2),
    (r"^ *(port link-mode|port trunk permit|priority-flow-control|rule \d+ comment|irf-port|packet-filter \d+ (in|out))", -0.7),
    (r"^<[\w.-]+> ?display (packet-filter|security-policy|qos policy interface|firewall|nat-policy)", -0.9),
    (r"^(\d+\s+)?(irf |security-zone name|security-policy ip|object-group ip address|qos policy \S+$|qos apply policy)", -0.6),
    (r"^ *firewall zone", -0.3),
    (r"^ *(security-policy *$|nat-policy *$|ip (address|service)-set .* type |service-manage |firewall zone name \S+ id )", -2.0),
    (r"^ *(version 7\.\d|acl (basic|advanced) |line vty|interface (Ten-GigabitEthernet|Bridge-Aggregation|HundredGigE))", -0.6),
)
HANDLERS: dict[str, Callable[[Reading, Block], None]] = {
    "acl": acl.read_acl,
    "interface": interfaces.read_interface,
    "vlan": interfaces.read_vlan,
    "traffic": qos.read_traffic,
    "qos-profile": qos.read_profile,
    "user-group-queue": qos.read_user_group,
    "flow-queue": queues.read_flow_queue,
    "traffic-policy": interfaces.read_global,
    "traffic-filter": interfaces.read_global,
    "traffic-secure": interfaces.read_global,
    "traffic-limit": interfaces.read_global,
    "traffic-remark": interfaces.read_global,
    "traffic-statistic": interfaces.read_global,
    "traffic-redirect": interfaces.read_global,
    "user-interface": interfaces.read_lines_view,
    "time-range": interfaces.read_time_range,
    "ipsec": interfaces.read_ipsec,
    "firewall": interfaces.read_interzone,
    "nat": nat.read_global,
    "nat64": nat.read_global,
    "dcb": lossless.read_dcb,
    **dict.fromkeys(("drop-profile", "port-wred", "flow-wred"), lossless.read_drop_profile),
    "cpu-defend": lossless.read_cpu_defend,
    "cpu-defend-policy": lossless.read_cpu_attachment,
    "segment": segments.read_segment,
    "segment-policy": segments.read_segment_policy,
    "traffic-segment": segments.read_traffic_segment,
    **dict.fromkeys(("ip", "ipv6"), lambda reading, block: _route(reading, block)),
    **dict.fromkeys(
        ("snmp-agent", "telnet", "ssh", "stelnet", "sftp", "ftp", "http", "https", "ntp-service", "tftp-server"),
        interfaces.read_service,
    ),
}
REASONS = {"undo": "a command, not configuration"}


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def is_comment(text: str) -> bool:
    return text.startswith("#")


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    prompts = {line.number for line in lines if is_prompt(line.text)}  # commands that printed what follows
    blocks = read_blocks((line for line in lines if line.number not in prompts), is_comment)
    reading = Reading()
    reading.ledger.understood(*prompts)
    acl.read_shown(reading, blocks)
    reading.ledger.understood(*output_lines((line.number, line.text) for line in lines))
    for block in blocks:
        _dispatch(reading, block)
    for child, why in reading.left_over:
        if not _is_listed(child.text):
            reading.ledger.unparsed(child.line, why)
    policies = [*acl.policies(reading), *segments.policies(reading)]
    qos_policies = [*qos.policies(reading), *queues.policies(reading), *lossless.policies(reading)]
    has_qos = bool(qos_policies or reading.interfaces or reading.domains)
    maps = queues.maps(reading) if has_qos else ()
    excuse_paths(reading.ledger, blocks, IGNORED)
    reading.ledger.settle(blocks, IGNORED)
    return DeviceConfig(
        platform=NAME,
        hostname=reading.hostname,
        lines=len(lines),
        policies=tuple(policies),
        qos_policies=tuple(qos_policies),
        dscp_maps=maps,
        trusts=tuple(reading.trusts),
        interfaces=tuple(reading.interfaces),
        schedules=tuple(reading.schedules),
        ignored=reading.ledger.ignored_lines,
        unparsed=reading.ledger.unparsed_lines,
        addresses=tuple(reading.pools),
        nat_rules=tuple(nat.rules(reading)),
        routes=tuple(reading.routes),
        losslessness=tuple(lossless.losslessness(reading)),
        qos_maps=tuple(reading.qos_maps),
        special=reading.ledger.special_lines,
    )


def _dispatch(reading: Reading, block: Block) -> None:
    words = block.words
    word = words[0].lower()
    if word == "sysname" and len(words) > 1:
        reading.hostname = reading.hostname or words[1]
        reading.ledger.understood(block.number)
        return
    if word in ("qos", "diffserv"):
        with reading.ledger.booking(block.line):
            _global_qos(reading, block)
        return
    handler = HANDLERS.get(word)
    if reading.ledger.is_booked(block.number):
        return
    if handler is None:
        _reason(reading, block, word)
        return
    try:
        handler(reading, block)
        reading.ledger.understood(block.number)
    except NotUnderstood as reason:
        if not _is_listed(block.text):
            reading.ledger.unparsed(block.line, str(reason))


def _reason(reading: Reading, block: Block, word: str) -> None:
    """A line that nobody models: say why, unless one of the lists takes it."""
    if word in REASONS and not _is_listed(block.text):
        reading.ledger.unparsed(block.line, REASONS[word])


def _is_listed(text: str) -> bool:
    return IGNORED.takes(text) or (is_sensitive(text) and IGNORED.excuses(text))


def _route(reading: Reading, block: Block) -> None:
    """`ip|ipv6 route-static ..`; other lines of `ip` are left to the lists."""
    words = Words(block.words, 1)
    if not words.accept("route-static") or words.peek().lower() in (
        "bfd",
        "default-preference",
        "frr",
        "track",
        "recursive-lookup",
    ):
        raise NotUnderstood("not understood")
    reading.routes.append(static_route(words, (block.number,)))


def _global_qos(reading: Reading, block: Block) -> None:
    """`qos schedule-profile P`, `qos car C cir ..`, `diffserv domain D`; other global QoS is recognised, not modelled."""
    words = Words(block.words)
    kind = words.next().lower()
    what = words.next().lower() if words else ""
    name = words.peek()
    if kind == "diffserv" and what == "domain" and name:
        reading.domains[name] = block
    elif kind == "qos" and what in ("schedule-profile", "queue-profile", "schedule-template") and name and block.children:
        reading.schedulers[name] = block
    elif kind == "qos" and what == "car" and name and words.peek(1).lower() == "cir":
        reading.cars[name] = block
    elif kind == "qos" and what == "group" and name:
        interfaces.read_group(reading, name, block)
    elif kind == "qos" and what == "map-table" and name:
        queues.read_map_table(reading, name, block)
    elif kind == "qos" and what == "buffer" and name:
        reading.device_notes.append((" ".join(nat.spoken(block).words), block.number))
    else:
        raise NotUnderstood(f"{kind} {what[:40]} is not modelled")
