"""`show acl table` and `show acl rule` as rows of CONFIG_DB (sonic-utilities acl_loader)."""

from __future__ import annotations

from policyhub.vendorkit.json_lines import Node
from policyhub.vendors.sonic.cli_tables import Row as Cells
from policyhub.vendors.sonic.cli_tables import Table
from policyhub.vendors.sonic.database import Database, Row

TABLES = ("Name", "Type", "Binding")
RULES = ("Table", "Rule", "Priority", "Action", "Match")
MIRRORS = {"MIRROR INGRESS": "MIRROR_INGRESS_ACTION", "MIRROR EGRESS": "MIRROR_EGRESS_ACTION", "MIRROR": "MIRROR_ACTION"}


def read_lists(tables: list[Table], database: Database) -> None:
    """Rows are put behind those of a config_db.json in the same text."""
    for table in tables:
        if all(name in table.columns for name in TABLES):
            for rows in _groups(table, "Name"):
                _add(database, "ACL_TABLE", (rows[0].cells["Name"],), rows, _table(rows))
        elif all(name in table.columns for name in RULES):
            for rows in _groups(table, "Rule"):
                _add(database, "ACL_RULE", (rows[0].cells["Table"], rows[0].cells["Rule"]), rows, _rule(rows))


def _groups(table: Table, column: str) -> list[list[Cells]]:
    """A row with the lines below it that leave the first columns blank."""
    found: list[list[Cells]] = []
    for row in table.rows:
        if row.cells[column] or not found:
            found.append([row])
        else:
            found[-1].append(row)
    return found


def _add(database: Database, table: str, key: tuple[str, ...], rows: list[Cells], fields: dict[str, Node]) -> None:
    known = database.tables.setdefault(table, [])
    if not any(row.key == key for row in known[-500:]):
        known.append(Row(key, Node(rows[0].line, rows[-1].line, members=fields)))


def _table(rows: list[Cells]) -> dict[str, Node]:
    first = rows[0]
    ports = [Node(row.line, row.line, text=row.cells["Binding"]) for row in rows if row.cells["Binding"] not in ("", "N/A")]
    word = "services" if first.cells["Type"] == "CTRLPLANE" else "ports"
    return {
        "type": Node(first.line, first.line, text=first.cells["Type"]),
        "stage": Node(first.line, first.line, text=first.cells.get("Stage", "")),
        word: Node(first.line, rows[-1].line, items=ports),
    }


def _rule(rows: list[Cells]) -> dict[str, Node]:
    first = rows[0]
    fields = {"PRIORITY": Node(first.line, first.line, text=first.cells["Priority"])}
    for row in rows:
        verb, colon, target = row.cells["Action"].partition(":")
        if verb in MIRRORS:
            fields[MIRRORS[verb]] = Node(row.line, row.line, text=target.strip())
        elif verb:
            fields["PACKET_ACTION"] = Node(row.line, row.line, text=f"{verb}{colon}{target.strip()}")
        name, colon, value = row.cells["Match"].partition(":")
        if colon:
            fields[name.strip()] = Node(row.line, row.line, text=value.strip())
    return fields
