"""Bulk by its behaviour, for people: the largest transfers, and hosts that send and pause together."""

from __future__ import annotations

from typing import Any

from flowguard.sensor.tables import Read, byte_count, count, ns, table
from policyhub.domain.message import gettext_noop
from policyhub.domain.qos import dscp_name

ROWS, HOSTS = 20, 8
CAVEAT = gettext_noop("Behaviour ranks; payload names, and identities decide. A chain of storage copies can look like it.")
GROUPS = gettext_noop("Hosts that send and pause together")
GROUP_HEAD = (
    gettext_noop("hosts"), gettext_noop("ways"), gettext_noop("bytes"), gettext_noop("in time"), gettext_noop("balance"),
    gettext_noop("every"), gettext_noop("for"), gettext_noop("payload"),
)  # fmt: skip
MORE = gettext_noop("and %(n)d more")
BULK = gettext_noop("Bulk (%(shown)d of %(all)d)")
BULK_HEAD = (
    gettext_noop("source"), gettext_noop("destination"), gettext_noop("service"), gettext_noop("mark"),
    gettext_noop("connections"), gettext_noop("bytes"), gettext_noop("packets full"), gettext_noop("sending"),
    gettext_noop("every"), gettext_noop("for"), gettext_noop("identity"), gettext_noop("point"),
)  # fmt: skip
SEVERAL = gettext_noop("several")


def behaviour_text(report: dict[str, Any], read: Read = gettext_noop) -> str:
    """Two tables; nothing where no bulk was."""
    return "\n\n".join(filter(None, (_groups(report["behaviour"], read), _bulk(report["behaviour"], read))))


def _groups(behaviour: dict[str, Any], read: Read) -> str:
    rows = [
        [
            _hosts(group["hosts"], read), count(group["ways"]), byte_count(group["bytes"]), f"{group['together']:.2f}",
            f"{group['balance']:.2f}", ns(group["period_ns"]), _seconds(group), ", ".join(group["named"]) or "-",
        ]
        for group in behaviour["groups"]
    ]  # fmt: skip
    text = table(read(GROUPS), [read(head) for head in GROUP_HEAD], rows, right=range(1, 7))
    return f"{text}\n  {read(CAVEAT)}" if text else ""


def _hosts(hosts: list[dict[str, Any]], read: Read) -> str:
    names = [f"{host['address']} ({host['identity']})" if host["identity"] else host["address"] for host in hosts]
    more = [read(MORE) % {"n": len(names) - HOSTS}] if names[HOSTS:] else []
    return ", ".join([*names[:HOSTS], *more])


def _bulk(behaviour: dict[str, Any], read: Read) -> str:
    shown = behaviour["bulk"][:ROWS]
    rows = [
        [
            row["src"], row["dst"], f"{row['proto']}/{row['server_port']}",
            read(SEVERAL) if row["dscp"] is None else dscp_name(row["dscp"]), count(row["connections"]),
            byte_count(row["bytes"]), f"{100 * row['filled']:.0f} %", f"{100 * row['on_share']:.0f} %", ns(row["period_ns"]),
            _seconds(row), row["identity"] or "-", row["point"],
        ]
        for row in shown
    ]  # fmt: skip
    title = read(BULK) % {"shown": len(shown), "all": behaviour["bulk_total"]}
    return table(title, [read(head) for head in BULK_HEAD], rows, right=range(4, 10))


def _seconds(row: dict[str, Any]) -> str:
    return f"{(row['last_ns'] - row['first_ns']) / 1e9:.1f} s"
