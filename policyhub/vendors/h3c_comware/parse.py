"""`display current-configuration` (and `display acl`) of H3C Comware into the domain model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.vendorkit.blocks import Block, read_lines
from policyhub.vendorkit.ledger import IgnoreList
from policyhub.vendorkit.lexing import NotUnderstood, score
from policyhub.vendorkit.vrp_lines import name_behind, read_sections
from policyhub.vendors.h3c_comware import acls, nat, objects, qos, security, system
from policyhub.vendors.h3c_comware.counters import output_lines
from policyhub.vendors.h3c_comware.outputs import read_outputs
from policyhub.vendors.h3c_comware.reading import PACKAGE, Reading

NAME = "h3c_comware"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^ *version [79]\.\d", 0.8),
    (r"^ *security-policy (ip|ipv6)\s*$", 0.9),
    (r"^ *rule \d+ name \S", 0.4),
    (r"^ *action (pass|drop)\s*$", 0.4),
    (r"^ *security-zone name ", 0.7),
    (r"^ *zone-pair security source ", 0.8),
    (r"^ *object-group (ip|ipv6) address |^ *object-group (service|port) \S+\s*$", 0.7),
    (r"^ *object-policy (ip|ipv6) ", 0.8),
    (r"^ *nat global-policy", 0.8),
    (r"^ *acl (ipv6 )?(basic|advanced|mac|user-defined) ", 0.8),
    (r"^ *rule \d+ comment ", 0.5),
    (r"^ *(packet-filter (ipv6 |name )?\S+ (in|out)bound|packet-filter default)", 0.6),
    (
        r"^ *qos (policy \S+$|apply policy|map-table|wred queue|wfq (byte-count|weight|\w+ group)|sp$|vlan-policy|trust dot1p)",
        0.7,
    ),
    (r"^ *priority-flow-control (enable|auto|no-drop|dot1p|deadlock|early-warning|poolid)", 0.7),
    (r"^ *(port link-mode|irf |line vty|stp global|undo port trunk permit|port trunk permit vlan)", 0.5),
    (
        r"^ *interface (Ten-GigabitEthernet|(Bridge|Route)-Aggregation|(Forty|(Four)?Hundred|Twenty-Five)GigE|Vlan-interface)",
        0.5,
    ),
    (r"^(Basic|Advanced|MAC) (IPv[46] )?ACL +(named )?\S+, ", 0.6),
    (r"^(Basic|Advanced|MAC) IPv[46] ACL ", 0.4),
    (r"^ ?(In|Out)-bound policy:", 0.7),
    (r"^ +IPv[46] ACL \S+, ?(Hard|Soft)ware-count", 0.6),
    (r"%%10[A-Z]+/\d/", 0.9),
    (r"^ *nat (outbound|static (out|in)bound|server (protocol \S+ )?global)|^ *qos car (in|out)bound (any|acl|carl) ", 0.5),
    (r"^ *(traffic behavior|traffic classifier \S+ operator)", 0.1),
    (r"^ *accounting (packet|byte)", 0.4),
    (r"^ ?(\S+ current|Current) state: (UP|DOWN|Admin)", 0.3),
    (r"^<[\w.-]+> ?dis\w* (packet-filter|security-policy|qos policy interface|object-policy|object-group)", 0.7),
    (r"^(RBM_[PS])?[<\[]H3C", 0.6),
    (r"^IPv[46] security policy rule:|^Object-policy apply ", 0.8),
    (r"^ *ipv?6? prefix-list \S+ index \d+", 0.4),
    (r"^ *route-policy \S+ (permit|deny) node \d+", 0.2),
    (r"^ *context \S+ id \d", 0.6),
    (r"^ *time-range \S+ \d\d:\d\d to ", 0.1),
    (r"^ *sysname \S+", 0.2),
    (r"^ *nat-policy\s*$|^ *ip (address|service)-set |^ *firewall zone ", -0.9),
    (r"^ *(traffic-filter|traffic policy|diffserv|dcb pfc|port default vlan|vlan batch|drop-profile)", -0.8),
    (r"^!Software Version|^ *interface (Vlanif|XGigabitEthernet|Eth-Trunk|\d+GE)", -0.8),
    (r"^ *(ip access-list|hostname |set security|rule id )", -0.9),
)
HANDLERS: dict[str, Callable[[Reading, Block], None]] = {
    "interface": system.read_interface,
    "vlan": system.read_vlan,
    "acl": acls.read_acl,
    "object-group": objects.read_group,
    "security-zone": system.read_zone,
    "zone-pair": security.read_zone_pair,
    "context": system.read_context,
    "time-range": system.read_time_range,
    "ip": system.read_route,
    "ipv6": system.read_route,
    "nat": system.read_nat,
    "qos": qos.read_global,
    "traffic": system.read_traffic,
    "packet-filter": system.read_global_filter,
    "priority-flow-control": system.read_global_pfc,
    "route-policy": system.read_node,
    "policy-based-route": system.read_node,
    "line": acls.read_lines_view,
    "user-interface": acls.read_lines_view,
    "ipsec": system.read_ipsec,
    **dict.fromkeys(
        ("snmp-agent", "telnet", "ssh", "sftp", "ftp", "http", "https", "ntp-service", "ntp", "netconf", "tftp-server", "tftp"),
        acls.read_service,
    ),
}
NOT_OURS = ("not modelled", "not understood", "may hold a rule")  # of a header that the lists may still take


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def adopts(parent: str, child: str) -> bool:
    """Lines of a text that lost its indentation."""
    if parent.startswith("security-policy"):
        return child.startswith("rule ")
    if parent.startswith("rule ") and " name " in parent:
        return child.startswith(
            ("action ", "source-", "destination-", "service", "logging ", "counting ", "disable", "time-range ")
        )
    return parent.startswith("object-group ") and child[:1].isdigit()


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = Reading()
    kept = reading.ledger.without_long(lines)
    shown, told = read_outputs(kept)
    outputs = {*output_lines(kept), *shown}
    reading.ledger.understood(*outputs)
    blocks = read_sections([line for line in kept if line.number not in outputs], adopts)
    count = len(lines)
    del lines, kept  # a large text is held once, in the blocks
    acls.read_shown(reading, blocks)
    for block in blocks:
        if not reading.ledger.is_booked(block.number):
            _dispatch(reading, block)
    known = {port.name for port in reading.interfaces}
    reading.interfaces += [port for port in told if port.name not in known]
    return _model(reading, blocks, count)


def _dispatch(reading: Reading, block: Block) -> None:
    text = block.text.lower()
    word = text.split()[0]
    try:
        if word == "sysname" and " " in text:
            reading.hostname = reading.hostname or name_behind(block.text, "sysname")
        elif word == "version" and " " in text:
            reading.version = reading.version or block.text.split(" ", 1)[1].strip()
        elif text in ("security-policy", "security-policy ip", "security-policy ipv6"):
            reading.security.setdefault(text, []).append(block)
        elif word == "object-policy" and len(block.words) > 2:
            kind = block.words[1].lower()
            name = f"object-policy {kind} {name_behind(block.text, ' '.join(block.words[:2]))}"
            reading.object_policies.setdefault(name, block)
        elif text.startswith("ipv6 policy-based-route "):
            system.read_node(reading, Block(block.line._replace(text=block.text[5:]), block.children))
        elif word in HANDLERS:
            HANDLERS[word](reading, block)
        else:
            return
        reading.ledger.understood(block.number)
    except NotUnderstood as reason:
        if str(reason) not in NOT_OURS or not (IGNORED.takes(block.text) or IGNORED.excuses(block.text)):
            reading.ledger.unparsed(block.line, str(reason))


def _model(reading: Reading, blocks: list[Block], lines: int) -> DeviceConfig:
    """Everything that refers to names, then the books."""
    policies = [*security.policies(reading)]
    nat_rules = [*reading.servers, *nat.global_rules(reading), *reading.statics, *reading.outbound]
    qos.book_tables(reading)
    qos_policies = [*reading.mqc.read(), *qos.queue_policies(reading), *reading.port_cars]
    maps = (qos.dscp_map(reading),) if reading.interfaces or qos_policies or reading.map_tables else ()
    qos_maps = qos.other_maps(reading)
    policies += [*acls.policies(reading), *(other.policy(name) for name, other in reading.other.items())]
    reading.ledger.settle(blocks, IGNORED)
    interfaces = tuple(
        replace(port, zone=reading.zone_of.get(port.name, ""), context=reading.context_of.get(port.name, ""))
        for port in reading.interfaces
    )
    return DeviceConfig(
        platform=NAME,
        hostname=reading.hostname,
        lines=lines,
        policies=tuple(policies),
        qos_policies=tuple(qos_policies),
        dscp_maps=maps,
        trusts=tuple(reading.trusts),
        interfaces=interfaces,
        addresses=tuple(reading.address_objects),
        groups=tuple(reading.groups),
        zones=tuple(reading.zones),
        schedules=tuple(reading.schedules),
        ignored=reading.ledger.ignored_lines,
        unparsed=reading.ledger.unparsed_lines,
        nat_rules=tuple(nat_rules),
        routes=tuple(reading.routes),
        evaluation=tuple(_evaluation(reading)),
        losslessness=tuple(reading.lossless.values()),
        qos_maps=tuple(qos_maps),
        version=reading.version,
        special=reading.ledger.special_lines,
    )


def _evaluation(reading: Reading) -> list[Stage]:
    """Security policies hide object policies; both see translated destinations."""
    if not reading.security and not reading.object_policies:
        return []
    bound = (name for name in reading.object_policies if name in reading.object_bindings)
    asked = tuple(reading.security) or tuple(bound)
    return [
        Stage(StageKind.DESTINATION_NAT),
        Stage(StageKind.FILTER, asked, Seen.TRANSLATED),
        Stage(StageKind.SOURCE_NAT),
    ]
