"""CONFIG_DB as rows, whatever style the text has: nested, flat `TABLE|key`, or swssconfig's list of `TABLE:key` operations."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib.resources import files

from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.json_lines import Document, Node
from policyhub.vendorkit.ledger import IgnoreList, LineLedger

PACKAGE = "policyhub.vendors.sonic"
IGNORED = IgnoreList.of(PACKAGE)
IGNORED_TABLES = frozenset(json.loads(files(PACKAGE).joinpath("tables.json").read_text(encoding="utf-8"))["ignored"])
READ_TABLES = frozenset({
    "ACL_TABLE", "ACL_RULE", "ACL_TABLE_TYPE", "PORT", "PORTCHANNEL", "PORTCHANNEL_MEMBER", "PORTCHANNEL_INTERFACE", "VLAN",
    "VLAN_MEMBER", "VLAN_INTERFACE", "VLAN_SUB_INTERFACE", "INTERFACE", "LOOPBACK_INTERFACE", "MGMT_INTERFACE", "MGMT_PORT",
    "DEVICE_METADATA", "VERSIONS", "STATIC_ROUTE", "STATIC_NAT", "STATIC_NAPT", "NAT_GLOBAL", "NAT_POOL", "NAT_BINDINGS",
    "COPP_GROUP", "COPP_TRAP", "DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_QUEUE_MAP",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "TC_TO_DSCP_MAP", "TC_TO_DOT1P_MAP",
    "MPLS_TC_TO_TC_MAP", "DSCP_TO_FC_MAP", "EXP_TO_FC_MAP", "PORT_QOS_MAP", "SCHEDULER", "WRED_PROFILE", "QUEUE",
    "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_PORT_EGRESS_PROFILE_LIST", "CABLE_LENGTH", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN",
    "PFC_WD", "POLICER", "MIRROR_SESSION", "POLICY_TABLE", "POLICY_BINDING_TABLE", "CLASSIFIER_TABLE",
    "POLICY_SECTIONS_TABLE",
})  # fmt: skip
REFERENCE = re.compile(r"\[\w+\|([^\]]*)\]")  # `[SCHEDULER|scheduler.0]` of releases before 2022


@dataclass(frozen=True, slots=True)
class Row:
    """One key of a table."""

    key: tuple[str, ...]
    node: Node

    @property
    def name(self) -> str:
        return "|".join(self.key)

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(self.node.numbers)

    def word(self, field_name: str) -> str:
        """A field's text, references without their brackets."""
        text = self.node.word(field_name)
        return REFERENCE.sub(r"\1", text) if text.startswith("[") else text

    def list(self, field_name: str) -> list[str]:
        """A list field; dumps of the database write `ports@` and commas."""
        node = self.node.get(field_name) or self.node.get(f"{field_name}@")
        return node.words() if node is not None else []


@dataclass(slots=True)
class Database:
    tables: dict[str, list[Row]] = field(default_factory=dict)
    openconfig: list[Node] = field(default_factory=list)

    def rows(self, table: str) -> list[Row]:
        return self.tables.get(table, [])

    def find(self, table: str, name: str) -> Row | None:
        return next((row for row in self.rows(table) if row.name == name), None)


def read_database(document: Document, ledger: LineLedger, by_number: Lines) -> Database:
    """Rows of all roots; lines of tables that are not read are booked."""
    database = Database()
    for root in document.roots:
        if root.items is not None:
            for item in root.items:
                _operation(database, item, ledger, by_number)
        elif root.members is not None:
            _members(database, root, ledger, by_number)
    return database


def _members(database: Database, root: Node, ledger: LineLedger, by_number: Lines) -> None:
    for name, node in root.pairs():
        table, bar, key = name.partition("|")
        if name == "acl" and node.members is not None:
            database.openconfig.append(node)
        elif (name == "TimeStampHeader" and node.is_scalar) or is_reading(node):
            ledger.understood(*node.numbers)
        elif table in IGNORED_TABLES:
            _ignore(node, ledger, by_number)
        elif table not in READ_TABLES or node.members is None:
            _unknown(table, node, ledger, by_number)
        elif bar:
            _row(database, table, tuple(key.split("|")), node, ledger)
        else:
            ledger.understood(node.line, node.end)
            for inner, value in node.pairs():
                _row(database, table, tuple(inner.split("|")), value, ledger)


def is_reading(node: Node) -> bool:
    """`"Ethernet0": {"UC0": {"totalpacket": "1"}}` of queuestat -j: counters, not a table."""
    first = next((inner for _, inner in node.pairs() if inner.members), None)
    return first is not None and any(
        name.endswith(("totalpacket", "droppacket", "trimpacket", "totalbytes")) for name, _ in first.pairs()
    )


def _operation(database: Database, item: Node, ledger: LineLedger, by_number: Lines) -> None:
    """`{"ACL_RULE_TABLE:T:R": {..}, "OP": "SET"}`; DEL and empty ones take away, so they hold nothing."""
    ledger.understood(item.line, item.end)
    for name, node in item.pairs():
        if name == "OP":
            ledger.understood(node.line)
            continue
        table, _, key = name.partition(":")
        table = table.removesuffix("_TABLE") if table.removesuffix("_TABLE") in READ_TABLES and table != "ACL_TABLE" else table
        if table in IGNORED_TABLES:
            _ignore(node, ledger, by_number)
        elif table not in READ_TABLES:
            _unknown(table, node, ledger, by_number)
        elif item.word("OP") == "DEL":
            ledger.understood(*node.numbers)
        else:
            _row(database, table, tuple(key.split(":", 1 if table == "ACL_RULE" else 3)), node, ledger)


def _row(database: Database, table: str, key: tuple[str, ...], node: Node, ledger: LineLedger) -> None:
    database.tables.setdefault(table, []).append(Row(key, node))
    ledger.understood(*node.numbers)


def _ignore(node: Node, ledger: LineLedger, by_number: Lines) -> None:
    for number in node.numbers:
        line = by_number.get(number)
        if line is not None and line.text and not IGNORED.excuses(line.text):
            ledger.ignore(line, "a sensitive word in a table that is not read")


def _unknown(table: str, node: Node, ledger: LineLedger, by_number: Lines) -> None:
    for number in node.numbers:
        line = by_number.get(number)
        if line is not None and line.text.strip("{}[], "):
            ledger.unparsed(line, f"table {table[:60]} is not known")
