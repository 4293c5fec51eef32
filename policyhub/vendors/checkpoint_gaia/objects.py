"""Objects of the management API: hosts, networks, ranges, groups, services, times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject, Zone
from policyhub.domain.services import ICMP, ICMPV6, MAX_PORT, MAX_PROTOCOL, SCTP, TCP, UDP, Service
from policyhub.vendorkit.lexing import TooScattered, host_set, is_decimal, prefix_set, range_set, wildcard_set
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendors.checkpoint_gaia.answers import Item
from policyhub.vendors.checkpoint_gaia.reading import Reading

PROTOCOLS = {"service-tcp": TCP, "service-udp": UDP, "service-sctp": SCTP}
ICMPS = {"service-icmp": ICMP, "service-icmp6": ICMPV6}
GATEWAYS = frozenset(
    ("simple-gateway", "simple-cluster", "checkpoint-host", "cluster-member", "CpmiGatewayCluster", "CpmiHostCkp",
     "CpmiClusterMember", "CpmiGatewayPlain", "CpmiVsxClusterNetobj", "CpmiVsClusterNetobj", "interoperable-device",
     "lsm-gateway", "gateway")
)  # fmt: skip
# resolved by the gateway at run time
DYNAMIC = frozenset(
    ("dynamic-object", "updatable-object", "data-center-object", "data-center-query", "network-feed", "Internet",
     "dynamic-global-network-object")
)  # fmt: skip
ZONES = frozenset(("security-zone",))
USERS = frozenset(("access-role", "LegacyUserAtLocation", "user-group", "identity-tag", "CpmiUserGroup"))
APPLICATIONS = frozenset(("application-site", "application-site-category", "application-site-group"))
RUN_TIME_SERVICES = frozenset(
    ("service-dce-rpc", "service-rpc", "service-gtp", "service-citrix-tcp", "service-compound-tcp", "service-hosted-mobile")
)  # fmt: skip
GROUPS = frozenset(("group", "group-with-exclusion"))
ANYWHERE = "any of a group with exclusion"  # no uid


def register(reading: Reading, item: Item) -> None:
    """The first object of a uid stays; one with more to tell replaces a mere name."""
    uid = item.text("uid")
    known = reading.objects.get(uid)
    if not uid or (known is not None and len(known) >= len(item)):
        return
    reading.objects[uid] = item
    reading.by_name.setdefault(item.text("name"), uid)


def define(reading: Reading) -> None:
    """Gives every object its addresses or services; exclusions last, from the inside out."""
    reading.gateways.extend(item for item in reading.objects.values() if item.text("type") in GATEWAYS)
    for uid, item in list(reading.objects.items()):
        kind = item.text("type")
        if kind in PROTOCOLS or kind in ICMPS or kind == "service-other" or kind in RUN_TIME_SERVICES:
            _define_service(reading, uid, item)
        elif kind == "service-group":
            _define_group(reading, uid, item, "service")
        elif kind == "group":
            _define_group(reading, uid, item, "network")
        elif kind in ZONES:
            reading.zones.append(Zone(item.text("name"), _zone_ports(reading, item.text("name")), item.lines))
        elif kind == "time":
            reading.schedules.append(_time(item))
        elif kind == "time-group":
            reading.schedules.append(_time_group(reading, item))
        elif kind == "dns-domain" or kind in DYNAMIC:
            reading.addresses.leave_open(uid, item.text("name"))
            found = "fqdn" if kind == "dns-domain" else "dynamic"
            reading.address_objects.append(AddressObject(item.text("name"), None, found, item.lines, item.text("name")))
        elif kind in FACTS or kind in GATEWAYS:
            _define_address(reading, uid, item)
    for uid in _from_the_inside(reading):
        _define_exclusion(reading, uid, reading.objects[uid])


def _zone_ports(reading: Reading, name: str) -> tuple[str, ...]:
    """Interfaces of gateways that are put into the zone: `GATEWAY INTERFACE`."""
    found: list[str] = []
    for item in reading.gateways:
        for port in item.items_of("interfaces"):
            settings = port.get("security-zone-settings")
            if isinstance(settings, Item) and settings.text("specific-zone") == name:
                found.append(f"{item.text('name')} {port.text('name') or port.text('interface-name')}")
    return tuple(found)


def _define_address(reading: Reading, uid: str, item: Item) -> None:
    name = item.text("name")
    value = _gateway(item) if item.text("type") in GATEWAYS else _fact(reading, item)
    if value is None:
        reading.addresses.leave_open(uid, name)
    else:
        reading.addresses.add(uid, value)
    reading.address_objects.append(AddressObject(name, value, "static", item.lines))


def _fact(reading: Reading, item: Item) -> AddressSet | None:
    try:
        return FACTS[item.text("type")](reading, item)
    except TooScattered:
        return None


def _join(parts: Iterable[AddressSet | None]) -> AddressSet | None:
    found = [part for part in parts if part is not None]
    return AddressSet().union(*found) if found else None


def _host(_: Reading, item: Item) -> AddressSet | None:
    return _join(host_set(item.text(key)) for key in ("ipv4-address", "ipv6-address", "ip-address"))


def _network(_: Reading, item: Item) -> AddressSet | None:
    pairs = (("subnet4", "mask-length4"), ("subnet6", "mask-length6"), ("subnet", "mask-length"))
    return _join(prefix_set(f"{item.text(net)}/{item.text(length)}") for net, length in pairs if item.text(net))


def _range(_: Reading, item: Item) -> AddressSet | None:
    pairs = [(item.text(f"{kind}-address-first"), item.text(f"{kind}-address-last")) for kind in ("ipv4", "ipv6", "ip")]
    return _join(range_set(low, high) for low, high in pairs if low)


def _wildcard(reading: Reading, item: Item) -> AddressSet | None:
    return wildcard_set(item.text("ipv4-address"), item.text("ipv4-mask-wildcard"))


FACTS: dict[str, Callable[[Reading, Item], AddressSet | None]] = {
    "host": _host,
    "network": _network,
    "address-range": _range,
    "multicast-address-range": _range,
    "wildcard": _wildcard,
}


def _gateway(item: Item) -> AddressSet | None:
    """A rule that names a gateway means all its interfaces; without them its addresses are not all known."""
    interfaces = item.get("interfaces")
    if not isinstance(interfaces, list) or not interfaces:
        return None
    own = [host_set(item.text(key)) for key in ("ipv4-address", "ipv6-address")]
    keys = ("ipv4-address", "ipv6-address", "ip-address")
    return _join([*own, *(host_set(port.text(key)) for port in interfaces if isinstance(port, Item) for key in keys)])


def _define_group(reading: Reading, uid: str, item: Item, kind: str) -> None:
    table = reading.addresses if kind == "network" else reading.services
    table.define(uid)
    names: list[str] = []
    for member in item.list_of("members"):
        known = reading.known(member)
        names.append(reading.name_of(member))
        if known is None:
            table.leave_open(uid, reading.name_of(member))
        else:
            table.refer(uid, known.text("uid"))
    reading.groups.append(ObjectGroup(item.text("name"), kind, tuple(names), item.lines))


def _define_exclusion(reading: Reading, uid: str, item: Item) -> None:
    base, taken = item.get("include"), item.get("except")
    names = reading.name_of(base), reading.name_of(taken)
    group = ObjectGroup(item.text("name"), "network", (names[0],), item.lines, (names[1],))
    reading.groups.append(group)
    if reading.is_any(base):
        reading.addresses.add(ANYWHERE, ANY)
    parts = [ANYWHERE if reading.is_any(part) else known.text("uid") for part in (base, taken) if (known := reading.known(part))]
    resolved = [reading.addresses.resolve(part) for part in parts]
    unknown = [name for part in resolved for name in part.unresolved]
    if len(resolved) < 2 or unknown:
        reading.addresses.leave_open(uid, item.text("name"))
    else:
        reading.addresses.add(uid, resolved[0].value.minus(resolved[1].value))


def _from_the_inside(reading: Reading) -> list[str]:
    """Groups with exclusion, each behind those that it is made of."""
    order: list[str] = []
    seen: set[str] = set()
    starts = [uid for uid, item in reading.objects.items() if item.text("type") == "group-with-exclusion"]
    for start in starts:
        stack = [(start, False)]
        while stack:
            uid, done = stack.pop()
            if done:
                order.append(uid)
                continue
            if uid in seen:
                continue
            seen.add(uid)
            item = reading.objects[uid]
            if item.text("type") == "group-with-exclusion":
                stack.append((uid, True))
            stack.extend((known.text("uid"), False) for known in _inside(reading, item) if known.text("uid") in reading.objects)
    return order


def _inside(reading: Reading, item: Item) -> list[Item]:
    if item.text("type") not in GROUPS:
        return []
    entries: list[Any] = [*item.list_of("members"), item.get("include"), item.get("except")]
    return [known for known in map(reading.known, entries) if known is not None and known.text("type") in GROUPS]


def _define_service(reading: Reading, uid: str, item: Item) -> None:
    found = _service(item)
    if found is None:
        reading.services.leave_open(uid, item.text("name"))
    else:
        reading.services.add(uid, (found,))
    reading.service_objects.append(ServiceObject(item.text("name"), () if found is None else (found,), item.lines))


def _service(item: Item) -> Service | None:
    """None when its ports are not known from the answer."""
    kind = item.text("type")
    if kind in PROTOCOLS:
        destination, source = ports(item.text("port")), ports(item.text("source-port"))
        if (item.text("port") and destination is None) or (item.text("source-port") and source is None) or not destination:
            return None
        return Service.of(PROTOCOLS[kind], destination, source)
    if kind in ICMPS:
        number, code = item.text("icmp-type"), item.text("icmp-code")
        if not number:
            return Service.of(ICMPS[kind])
        if not is_decimal(number) or int(number) > 255 or (code and (not is_decimal(code) or int(code) > 255)):
            return None
        return icmp_service(int(number), int(code) if code else None, ICMPS[kind])
    number = item.text("ip-protocol")
    if kind == "service-other" and is_decimal(number) and len(number) < 4 and int(number) <= MAX_PROTOCOL:
        return Service.of(int(number))
    return None


def ports(text: str) -> tuple[tuple[int, int], ...] | None:
    """`80`, `1-9`, `>1023`, `<1024`, several with commas; None when it is none of them."""
    found: list[tuple[int, int]] = []
    for part in text.replace(" ", "").split(","):
        low, dash, high = part.lstrip("<>").partition("-")
        if not is_decimal(low) or len(low) > 5 or (dash and (not is_decimal(high) or len(high) > 5)):
            return None
        first, last = int(low), int(high) if dash else int(low)
        if part.startswith(">"):
            first, last = first + 1, MAX_PORT
        elif part.startswith("<"):
            first, last = 0, first - 1
        if not 0 <= first <= last <= MAX_PORT:
            return None
        found.append((first, last))
    return tuple(found)


def _time_group(reading: Reading, item: Item) -> Schedule:
    """Holds when one of its times holds: it is over when the last of them is."""
    members = [reading.known(member) for member in item.list_of("members")]
    ends = [_time(known).expires if known is not None and known.text("type") == "time" else None for known in members]
    known_ends = [end for end in ends if end is not None]
    expires = max(known_ends) if known_ends and len(known_ends) == len(ends) else None
    return Schedule(item.text("name"), ", ".join(map(reading.name_of, item.list_of("members"))), expires, item.lines)


def _time(item: Item) -> Schedule:
    texts: list[str] = []
    expires: str | None = None
    for key in ("start", "end"):
        value = item.get(key)
        if isinstance(value, Item) and not item.get(f"{key}-never") and not item.get(f"{key}-now"):
            stamp = value.text("iso-8601") or f"{value.text('date')} {value.text('time')}".strip()
            texts.append(f"{key} {stamp}")
            expires = stamp[:16] if key == "end" and "T" in stamp else expires
    for part in item.items_of("hours-ranges"):
        if part.get("enabled"):
            texts.append(f"{part.text('from')}-{part.text('to')}")
    recurrence = item.get("recurrence")
    if isinstance(recurrence, Item):
        days = [str(day) for key in ("weekdays", "days") for day in recurrence.list_of(key)]
        texts.append(" ".join([recurrence.text("pattern"), *days]).strip())
    return Schedule(item.text("name"), "; ".join(texts), expires, item.lines)
