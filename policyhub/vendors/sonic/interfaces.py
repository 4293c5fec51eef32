"""Ports, port channels, VLANs and addresses; static routes; NAT."""

from __future__ import annotations

from dataclasses import replace

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import Interface, Route
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, Service
from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, host_set, is_decimal, prefix_set
from policyhub.vendors.sonic.database import Database, Row
from policyhub.vendors.sonic.match import PROTOCOL_NAMES, ports

PHYSICAL = ("PORT", "PORTCHANNEL", "VLAN", "MGMT_PORT")
WITH_ADDRESSES = (
    "INTERFACE",
    "PORTCHANNEL_INTERFACE",
    "VLAN_INTERFACE",
    "VLAN_SUB_INTERFACE",
    "LOOPBACK_INTERFACE",
    "MGMT_INTERFACE",
)
MBIT = 10**6


def interfaces(database: Database) -> tuple[Interface, ...]:
    found: dict[str, Interface] = {}
    for table in PHYSICAL:
        for row in database.rows(table):
            found[row.name] = _port(row, "down" if table == "PORT" else "up")  # defaults of the YANG models
    for table in WITH_ADDRESSES:
        for row in database.rows(table):
            name = row.key[0]
            known = found.get(name, Interface(name))
            addresses = (*known.addresses, row.key[1]) if len(row.key) > 1 else known.addresses
            vrf = row.word("vrf_name") or row.word("vnet_name") or known.vrf
            found[name] = replace(known, addresses=addresses, vrf=vrf, lines=(*known.lines, *row.lines))
    for row in database.rows("PORTCHANNEL_MEMBER"):
        if len(row.key) > 1:
            known = found.get(row.key[1], Interface(row.key[1]))
            found[row.key[1]] = replace(known, parent=row.key[0], lines=(*known.lines, *row.lines))
    return tuple(found.values())


def _port(row: Row, default_status: str) -> Interface:
    speed, mtu = row.word("speed"), row.word("mtu")
    return Interface(
        row.name,
        description=row.word("description") or row.word("alias"),
        speed_bps=int(speed) * MBIT if is_decimal(speed) and len(speed) < 9 else None,
        enabled=(row.word("admin_status") or default_status) != "down",
        lines=row.lines,
        mtu=int(mtu) if is_decimal(mtu) and len(mtu) < 6 else None,
    )


def routes(database: Database) -> tuple[Route, ...]:
    found: list[Route] = []
    for row in database.rows("STATIC_ROUTE"):
        vrf, prefix = (row.key[0], row.key[1]) if len(row.key) > 1 else ("", row.key[0])
        columns = [row.list(name) for name in ("nexthop", "ifname", "distance", "blackhole")]
        for at in range(max(1, *(len(column) for column in columns))):
            hop, port, distance, hole = (column[at] if at < len(column) else "" for column in columns)
            discard = hole.lower() == "true"
            next_hop = "" if hop in ("0.0.0.0", "::") else hop  # noqa: S104 (SONiC writes it for "directly")
            number = int(distance) if is_decimal(distance) and len(distance) < 4 else None
            found.append(Route(prefix, next_hop, port, "" if vrf == "default" else vrf, "", number, discard, row.lines))
    return tuple(found)


def nat_rules(database: Database, ledger: LineLedger, by_number: Lines) -> tuple[NatRule, ...]:
    found: list[NatRule] = []
    for table in ("STATIC_NAT", "STATIC_NAPT"):
        for row in database.rows(table):
            try:
                found.append(_static(table, row))
            except NotUnderstood as error:
                line = by_number.get(row.node.line)
                if line is not None:
                    ledger.unparsed(line, str(error))
    pools = {row.name: row for row in database.rows("NAT_POOL")}
    for row in database.rows("NAT_BINDINGS"):
        pool = pools.get(row.word("nat_pool"))
        source = pool.word("nat_ip") if pool else row.word("nat_pool")
        acl = row.word("access_list").split(",")[0]
        conditions = (f"access list {acl}",) if acl else ()
        service = pool.word("nat_port") if pool else ""
        found.append(
            NatRule(
                row.name,
                NatKind.SOURCE,
                Match(conditions=conditions),
                row.lines,
                source,
                "",
                "" if service == "NULL" else service,
                "NAT_BINDINGS",
                references=tuple(part for part in (row.word("nat_pool"), acl) if part),
                notes=_twice(row),
            )
        )
    switch = database.find("NAT_GLOBAL", "Values")
    if switch is not None and switch.word("admin_mode") == "disabled":
        return tuple(replace(rule, enabled=False) for rule in found)
    return tuple(found)


def _static(table: str, row: Row) -> NatRule:
    """dnat (the default): packets for the key's address go to local_ip. snat: packets from the key's address get local_ip."""
    outside = host_set(row.key[0]) or prefix_set(row.key[0])
    if outside is None:
        raise NotUnderstood(f"{row.key[0][:60]!r} is not an address")
    is_source = row.word("nat_type") == "snat"
    service, port = (ANY_SERVICE,), ""
    if len(row.key) > 2:
        number = PROTOCOL_NAMES.get(row.key[1].upper())
        interval = ports(row.key[2])
        service = (Service.of(number, None, interval) if is_source else Service.of(number, interval),)
        port = row.word("local_port")
    match = _one_side(outside, service, is_source)
    to = row.word("local_ip")
    source, destination = (to, "") if is_source else ("", to)
    return NatRule(row.name, NatKind.STATIC, match, row.lines, source, destination, port, table, notes=_twice(row))


def _twice(row: Row) -> tuple[str, ...]:
    """Entries with one number translate both sides of a packet together."""
    number = row.word("twice_nat_id")
    return (f"twice_nat_id {number}",) if number not in ("", "NULL") else ()


def _one_side(address: AddressSet, services: tuple[Service, ...], is_source: bool) -> Match:
    return Match(source=address, services=services) if is_source else Match(destination=address, services=services)
