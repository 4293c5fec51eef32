"""Bulk by its behaviour, for people: the largest transfers, and hosts that send and pause together."""

from __future__ import annotations

from typing import Any

from flowguard.sensor.tables import byte_count, count, ns, table
from policyhub.domain.qos import dscp_name

ROWS, HOSTS = 20, 8
CAVEAT = "Behaviour ranks; payload names, and identities decide. A chain of storage copies can look like it."


def behaviour_text(report: dict[str, Any]) -> str:
    """Two tables; nothing where no bulk was."""
    return "\n\n".join(filter(None, (_groups(report["behaviour"]), _bulk(report["behaviour"]))))


def _groups(behaviour: dict[str, Any]) -> str:
    rows = [
        [
            _hosts(group["hosts"]), count(group["ways"]), byte_count(group["bytes"]), f"{group['together']:.2f}",
            f"{group['balance']:.2f}", ns(group["period_ns"]), _seconds(group), ", ".join(group["named"]) or "-",
        ]
        for group in behaviour["groups"]
    ]  # fmt: skip
    head = ["hosts", "ways", "bytes", "in time", "balance", "every", "for", "payload"]
    text = table("Hosts that send and pause together", head, rows, right=range(1, 7))
    return f"{text}\n  {CAVEAT}" if text else ""


def _hosts(hosts: list[dict[str, Any]]) -> str:
    names = [f"{host['address']} ({host['identity']})" if host["identity"] else host["address"] for host in hosts]
    more = [f"and {len(names) - HOSTS} more"] if names[HOSTS:] else []
    return ", ".join([*names[:HOSTS], *more])


def _bulk(behaviour: dict[str, Any]) -> str:
    shown = behaviour["bulk"][:ROWS]
    rows = [
        [
            row["src"], row["dst"], f"{row['proto']}/{row['server_port']}",
            "several" if row["dscp"] is None else dscp_name(row["dscp"]), count(row["connections"]), byte_count(row["bytes"]),
            f"{100 * row['filled']:.0f} %", f"{100 * row['on_share']:.0f} %", ns(row["period_ns"]), _seconds(row),
            row["identity"] or "-", row["point"],
        ]
        for row in shown
    ]  # fmt: skip
    head = ["source", "destination", "service", "mark", "connections", "bytes", "packets full", "sending", "every", "for",
            "identity", "point"]  # fmt: skip
    title = f"Bulk ({len(shown)} of {behaviour['bulk_total']})"
    return table(title, head, rows, right=range(4, 10))


def _seconds(row: dict[str, Any]) -> str:
    return f"{(row['last_ns'] - row['first_ns']) / 1e9:.1f} s"
