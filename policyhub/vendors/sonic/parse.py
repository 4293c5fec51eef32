"""config_db.json, ACL files and command outputs of SONiC into the domain model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from policyhub.domain.device_config import DeviceConfig, Losslessness
from policyhub.domain.evaluation import Stage, StageKind
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.json_lines import Document, read_json
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import score
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendors.sonic.access import policies
from policyhub.vendors.sonic.cli_lists import read_lists
from policyhub.vendors.sonic.cli_tables import TITLE, Table, read_tables
from policyhub.vendors.sonic.database import IGNORED, Database, read_database
from policyhub.vendors.sonic.interfaces import interfaces, nat_rules, routes
from policyhub.vendors.sonic.qos import read_qos
from policyhub.vendors.sonic.series import is_series

NAME = "sonic"
SIGNS = (
    (
        r"^[ \t\[{]*\"(ACL_(TABLE|RULE)(_TABLE)?|PORT_QOS_MAP|DSCP_TO_TC_MAP|TC_TO_QUEUE_MAP|TC_TO_PRIORITY_GROUP_MAP|"
        r"MAP_PFC_PRIORITY_TO_QUEUE|SCHEDULER|WRED_PROFILE|BUFFER_(PG|POOL|PROFILE|QUEUE)|CABLE_LENGTH|DEVICE_METADATA|PFC_WD|STATIC_NAPT?|STATIC_ROUTE|"
        r"PORTCHANNEL(_INTERFACE)?|VLAN_(MEMBER|INTERFACE)|PORT|INTERFACE|LOOPBACK_INTERFACE|FEATURE|MGMT_INTERFACE|"
        r"CLASSIFIER_TABLE|POLICY_SECTIONS_TABLE)(\||:|\"\s*:)",
        0.9,
    ),
    (r"\"(acl|PORT)\"\s*:\s*\{", 0.2),
    (r"\"acl-sets\"\s*:", 0.6),
    (r"\"PORT\|Ethernet\d+\"|\"Ethernet\d+(\|[\d.-]+)?\"\s*:\s*\{", 0.6),
    (r"^Table\s+Rule\s+Priority\s+Action\s+Match|^Name\s+Type\s+Binding\s+Description", 0.9),
    (r"^RULE NAME\s+TABLE NAME\s+PRIO\s+PACKETS COUNT", 0.9),
    (r"^[ \t]*Port\s+(TxQ|Voq)\s+(Counter|Trim)/pkts", 0.9),
    (r"^[ \t]*PORT\s+ACTION\s+DETECTION TIME\s+RESTORATION TIME|^[ \t]*QUEUE\s+STATUS\s+STORM DETECTED", 0.9),
    (r"^[ \t]*Port( Rx| Tx)?\s+(Priority\s+RX Pause|PFC0\s+PFC1|PG0\s+PG1)", 0.9),
    (r"^[ \t]*IFACE\s+STATE\s+(RX_OK|FEC_CORR)", 0.9),
    (r"^(Pool|Profile)( for namespace \w+)?: \S+$", 0.6),
    (r"^SONiC Software Version:", 0.9),
    (r"\"(Statement|SecurityGroups|properties)\"\s*:", -0.9),
)
HOST = re.compile(r"^[\w.-]+@([\w.-]+):[^#$]*[#$]")
OTHER_COLUMNS = ("RULE NAME", "Name", "Table", "PORT", "Interface", "Symbol Errors Per Codeword", "Route pattern", "ASIC ID")
LISTS = ("Pool", "Profile")
EVALUATION = (Stage(StageKind.FILTER, note="tables bound to the port; all of them are asked, a drop in one drops"),)


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def hostname_of(lines: Iterable[Line]) -> str:
    return next((found[1] for line in lines if (found := HOST.match(line.text))), "")


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    ledger = LineLedger()
    kept = ledger.without_long(lines)
    ledger.understood(*(line.number for line in kept if is_prompt(line.text) and "{" not in line.text))
    known = _tables(kept, text, ledger) if len(kept) == len(lines) else []
    document = read_json(_rest(kept, ledger)) if any(line.text[0] in "{[" for line in _rest(kept, ledger)) else Document()
    for number, reason in document.odd.items():
        ledger.unparsed(lines.at(number), reason)
    database = read_database(document, ledger, lines)
    del document
    read_lists(known, database)
    qos = read_qos(database, ledger, lines)
    acls = policies(database, ledger, lines)
    translations = nat_rules(database, ledger, lines)
    ledger.settle_lines(lines, IGNORED)
    return DeviceConfig(
        platform=NAME,
        hostname=_metadata(database, "hostname") or hostname_of(lines),
        lines=len(lines),
        policies=tuple(acls),
        qos_policies=qos.policies,
        dscp_maps=qos.dscp_maps,
        trusts=qos.trusts,
        interfaces=interfaces(database),
        ignored=ledger.ignored_lines,
        unparsed=ledger.unparsed_lines,
        nat_rules=translations,
        routes=routes(database),
        evaluation=EVALUATION if len(acls) > 1 else (),
        losslessness=(*qos.losslessness, *_watched(known)),
        qos_maps=qos.maps,
        version=_version(database),
        special=ledger.special_lines,
    )


def _rest(lines: Sequence[Line], ledger: LineLedger) -> Iterator[Line]:
    return (line for line in ledger.unbooked(lines) if line.text)


def _metadata(database: Database, field: str) -> str:
    row = database.find("DEVICE_METADATA", "localhost")
    return row.word(field) if row is not None else ""


def _version(database: Database) -> str:
    row = database.find("VERSIONS", "DATABASE")
    return row.word("VERSION") if row is not None else ""


def _tables(lines: Sequence[Line], text: str, ledger: LineLedger) -> list[Table]:
    """Tables of the command line; their lines are booked."""
    if "--" not in text:
        return []
    found = [table for table in read_tables(lines, text) if _is_known(table)]
    for table in found:
        ledger.understood(*table.lines)
    ledger.understood(*(line.number for line in lines if TITLE.match(line.text)))
    return found


def _watched(tables: list[Table]) -> tuple[Losslessness, ...]:
    """`show pfcwd config` says which ports have a watchdog."""
    rows = [row for table in tables if "DETECTION TIME" in table.columns for row in table.rows if row.cells["PORT"]]
    return tuple(Losslessness(row.cells["PORT"], watchdog=True, lines=(row.line,)) for row in rows)


def _is_known(table: Table) -> bool:
    if not table.columns:
        return table.title.startswith(LISTS)
    return is_series(table) or table.columns[0] in OTHER_COLUMNS
