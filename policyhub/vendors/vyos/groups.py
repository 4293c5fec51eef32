"""`firewall group`: addresses, networks, ports; what only the device knows stays open."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import AddressSet
from policyhub.domain.objects import ObjectGroup
from policyhub.domain.services import ALL_PROTOCOLS, Service
from policyhub.vendorkit.json_books import address
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.port_lists import port_list
from policyhub.vendors.vyos.reading import Reading

ADDRESSES = {
    "address-group": "address",
    "network-group": "network",
    "ipv6-address-group": "address",
    "ipv6-network-group": "network",
}
OPEN = {
    "domain-group": "address",
    "remote-group": "url",
    "dynamic-group": "",
    "interface-group": "interface",
    "mac-group": "mac-address",
}


@dataclass(slots=True)
class Groups:
    """Names of a table are `kind/name`: kinds have name spaces of their own."""

    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    ports: NameTable[Services] = field(default_factory=service_table)
    objects: list[ObjectGroup] = field(default_factory=list)

    @classmethod
    def read(cls, reading: Reading) -> Groups:
        groups = cls()
        top = reading.root.get("firewall", "group")
        reading.ledger.understood(*(top.own if top else ()))
        for kind, listed in reading.root.pairs("firewall", "group"):
            for name, node in listed.children.items():
                known = {*OPEN, "port-group", *ADDRESSES}
                if kind not in known:
                    continue
                member_key = ADDRESSES.get(kind) or OPEN.get(kind) or "port"
                read = [below for key in (member_key, "include", "description") if (below := node.get(key)) is not None]
                reading.ledger.understood(*listed.own, *node.own, *(line for below in read for line in below.lines))
                members = (*node.words(member_key), *node.words("include"))
                groups.objects.append(ObjectGroup(name, "service" if kind == "port-group" else "network", members, node.lines))
                groups._define(reading, kind, f"{kind}/{name}", name)
        return groups

    def _define(self, reading: Reading, kind: str, key: str, name: str) -> None:
        node = reading.root.get("firewall", "group", kind, name)
        if node is None:
            return
        table: NameTable[AddressSet] | NameTable[Services] = self.ports if kind == "port-group" else self.addresses
        table.define(key)
        for other in node.words("include"):
            table.refer(key, f"{kind}/{other}")
        if kind in OPEN:
            self.addresses.leave_open(key, name)
            return
        for text, leaf in node.pairs(ADDRESSES.get(kind, "port")):
            try:
                if kind == "port-group":
                    self.ports.add(key, (Service(ALL_PROTOCOLS, destination_ports=port_list(text)),))
                else:
                    found = address(text)
                    if found is None:
                        raise NotUnderstood(f"{text[:40]!r} is not an address")
                    self.addresses.add(key, found)
            except NotUnderstood as error:
                reading.refuse(leaf.own, str(error), again=True)
                table.leave_open(key, text)
