"""A mirror session as a proposal: what it would copy and load, in which class, and why it is refused. Nothing is sent."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from flowguard.domain.mirror_load import Load
from policyhub.domain.change import Commands
from policyhub.domain.device_config import DeviceConfig, Interface
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.mirroring import Copied, Mirror, MirrorDrafts, MirrorEnds, MirrorKind
from policyhub.domain.qos import CS1, DF

PORT = re.compile(r"[A-Za-z0-9][\w./:@-]{0,62}")
LISTED = 8
NEARLY_FULL = 0.7
NO_PORTS = gettext_noop("The configuration lists no ports: whether %(port)s exists was not checked.")
UNMARKED = gettext_noop("The platform has no command for the mark of ERSPAN: see in the capture which one the copies carry.")
TOO_SLOW = gettext_noop(
    "The destination is too slow: copies will be lost. Mirror one direction, filter, or give it a faster port."
)
TOO_SLOW_ONE_WAY = gettext_noop("The destination is too slow: copies will be lost. Filter, or give it a faster port.")
NEARLY_TOO_SLOW = gettext_noop("The mean load leaves little room: bursts will overrun the destination, and copies will be lost.")
SPEED_UNKNOWN = gettext_noop("Whether the destination is fast enough is not known: give --rate or --counters, and --capacity.")
LOSSLESS_COPIES = gettext_noop(
    "Pause frames are mostly not copied, and copies of lossless traffic may be dropped: count both at the device."
)
WHICH_PAUSE = gettext_noop(
    "Which priorities pause is not in the configuration: see that the mark of the copies is not among them."
)
FOREIGN_ORIGIN = gettext_noop("No port of the configuration has %(origin)s: use an address of the device as origin.")
FLOODED = gettext_noop("VLAN %(vlan)d must reach the collector's switch and hold nothing else: copies are flooded in it.")
SHUT = gettext_noop("%(port)s is shut down: there is nothing to copy.")


class MirrorRefused(PolicyHubError):
    """A mirror that would harm, or that nobody could set up; says why and what would do."""

    code = "FG-E020"


@dataclass(frozen=True, slots=True)
class Wish(MirrorEnds):
    """What a person asks for. session: None = the next that is free. capacity_bps: of the way to the collector, where known."""

    session: int | None = None
    capacity_bps: float | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """capacity_bps: of the destination, None when unknown. notes: what the reader must know or check."""

    mirror: Mirror
    commands: Commands
    load: Load
    capacity_bps: float | None
    notes: tuple[Message, ...] = ()

    @property
    def use(self) -> float | None:
        """Share of the capacity, 0..; None when either is unknown."""
        if self.load.total_bps is None or not self.capacity_bps:
            return None
        return self.load.total_bps / self.capacity_bps

    @property
    def fits(self) -> bool | None:
        return None if self.use is None else self.use <= 1


def propose(wish: Wish, config: DeviceConfig, drafts: MirrorDrafts, running: str, load: Load) -> Proposal:
    """Raises MirrorRefused, and CannotRender for what the platform cannot express."""
    notes: list[Message] = []
    source = _port(wish.source, config, notes)
    destination = _port(wish.destination, config, notes) if wish.destination else None
    kind = _kind(wish, config, drafts)
    if destination is not None and _base(destination.name) == _base(source.name):
        raise MirrorRefused.of(gettext_noop("%(port)s would be mirrored to itself. Give another destination"), port=source.name)
    if kind is MirrorKind.SPAN and destination is not None:
        _refuse_used(destination, config)
    _refuse_lossless(kind, destination, config)
    mark = None
    if kind is MirrorKind.ERSPAN and drafts.marks:
        mark = _mark(config)
    elif kind is MirrorKind.ERSPAN:
        _refuse_lossless_default(config)
        notes.append(Message(UNMARKED))
    mirror = Mirror(
        source.name, wish.copied, destination.name if destination else "", wish.vlan, wish.collector, wish.origin,
        numbers=_numbers(wish, drafts, running), dscp=mark,
    )  # fmt: skip
    capacity = wish.capacity_bps or (destination.speed_bps if destination else None)
    found = Proposal(mirror, drafts.draft(mirror, running), load, capacity)
    return replace(found, notes=(*notes, *_notes(found, source, config)))


def _port(name: str, config: DeviceConfig, notes: list[Message]) -> Interface:
    if not PORT.fullmatch(name):
        raise MirrorRefused.of(gettext_noop("%(port)r is no name of a port. Write it as the configuration does"), port=name)
    found = config.interface(name)
    if found is not None:
        return found
    if config.interfaces:
        known = ", ".join(each.name for each in config.interfaces[:LISTED]) + (", ..." if config.interfaces[LISTED:] else "")
        said = gettext_noop("port %(port)s is not in the configuration. Ports there: %(known)s")
        raise MirrorRefused.of(said, port=name, known=known)
    notes.append(Message(NO_PORTS, {"port": name}))
    return Interface(name)


def _base(name: str) -> str:
    """A unit or subinterface is on its port's wire."""
    return name.casefold().partition(".")[0]


def _kind(wish: Wish, config: DeviceConfig, drafts: MirrorDrafts) -> MirrorKind:
    kind = wish.kind
    if kind not in drafts.kinds:
        known = ", ".join(sorted(drafts.kinds))
        said = gettext_noop("%(platform)s has no %(kind)s that is documented. It has: %(known)s")
        raise MirrorRefused.of(said, platform=config.platform, kind=kind.value, known=known)
    if kind is MirrorKind.ERSPAN:
        _addresses(wish)
    if kind in drafts.by_port and not wish.destination:
        said = gettext_noop("%(kind)s of %(platform)s needs the port that the copies leave by. Give --destination PORT")
        raise MirrorRefused.of(said, kind=kind.upper(), platform=config.platform)
    if kind not in drafts.by_port and wish.destination:
        said = gettext_noop("%(kind)s of %(platform)s leaves where its VLAN or route leads. Leave --destination out")
        raise MirrorRefused.of(said, kind=kind.upper(), platform=config.platform)
    if wish.vlan is not None and (wish.collector or not 2 <= wish.vlan <= 4094):
        raise MirrorRefused.of(gettext_noop("--vlan is the VLAN of RSPAN, 2 to 4094, without --collector"))
    return kind


def _addresses(wish: Wish) -> None:
    try:
        ends = {ipaddress.ip_address(wish.collector), ipaddress.ip_address(wish.origin)}
    except ValueError:
        said = gettext_noop("--collector %(collector)r and --origin %(origin)r must both be addresses")
        raise MirrorRefused.of(said, collector=wish.collector, origin=wish.origin) from None
    if len(ends) == 1 or any(each.is_multicast or each.version == 6 for each in ends):
        raise MirrorRefused.of(gettext_noop("--collector and --origin must be two IPv4 addresses of single hosts"))


def _numbers(wish: Wish, drafts: MirrorDrafts, running: str) -> tuple[int, ...]:
    """As many free session numbers as it takes. Raises MirrorRefused when the wished one is taken or none is left."""
    taken, needed = drafts.taken(running), len(wish.copied.ways) if drafts.one_way else 1
    free = [number for number in drafts.numbers if number not in taken]
    if wish.session is not None:
        if wish.session not in free:
            said = gettext_noop("session %(session)d is taken, or not one of %(first)d to %(last)d. The next free is %(free)s")
            ends = {"first": drafts.numbers[0], "last": drafts.numbers[-1]}
            raise MirrorRefused.of(said, session=wish.session, **ends, free=free[0] if free else "-")
        free = [wish.session, *(number for number in free if number > wish.session)]
    found = tuple(islice(free, needed))
    if len(found) < needed:
        raise MirrorRefused.of(gettext_noop("all %(count)d sessions of the device are taken"), count=len(drafts.numbers))
    return found


def _lossless(config: DeviceConfig) -> frozenset[int]:
    """Priorities that pause anywhere on the device."""
    rows = [row for row in config.losslessness if row.enabled is not False]
    return frozenset(priority for row in rows for priority in row.priorities or ())


def _refuse_used(destination: Interface, config: DeviceConfig) -> None:
    """A port of local copies carries nothing else; many devices take its addresses away without a word."""
    for port in config.interfaces:
        if port.addresses and _base(port.name) == _base(destination.name):
            said = gettext_noop("%(port)s has the address %(address)s, so it carries traffic of its own. Give an unused port")
            raise MirrorRefused.of(said, port=destination.name, address=port.addresses[0])


def _refuse_lossless(kind: MirrorKind, destination: Interface | None, config: DeviceConfig) -> None:
    """Not into a port that can be paused: its peer would hold the copies back, and they the buffers of the lossless class."""
    if destination is not None:
        for row in config.losslessness:
            here = _base(row.interface) == _base(destination.name)
            if here and row.enabled is not False and (row.enabled or row.priorities):
                said = gettext_noop("%(port)s has priority flow control: mirrored copies must not enter a lossless port."
                                    " Give another destination")  # fmt: skip
                raise MirrorRefused.of(said, port=destination.name)
    if kind is MirrorKind.RSPAN and _lossless(config):
        said = gettext_noop("RSPAN copies keep their priority, and priorities %(lossless)s are lossless here. Use ERSPAN, or a"
                            " port of its own")  # fmt: skip
        raise MirrorRefused.of(said, lossless=_listed(_lossless(config)))


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in sorted(numbers))


def _priorities(dscp: int, config: DeviceConfig) -> frozenset[int]:
    """By every map that knows the mark, else by the usual default (class selector: DSCP / 8)."""
    known = {level for table in config.dscp_maps if (level := table.serves(dscp)) is not None}
    return frozenset(known or {dscp >> 3})


def _mark(config: DeviceConfig) -> int:
    """The lowest class that does not pause: CS1 (RFC 3662), else best effort. Raises MirrorRefused."""
    lossless = _lossless(config)
    for mark in (CS1, DF):
        if not _priorities(mark, config) & lossless and not _better_than_best_effort(mark, config):
            return mark
    said = gettext_noop("CS1 and best effort both lie in lossless priorities (%(lossless)s): ERSPAN would fill them. Map one of"
                        " them to a class that may drop")  # fmt: skip
    raise MirrorRefused.of(said, lossless=_listed(lossless))


def _better_than_best_effort(mark: int, config: DeviceConfig) -> bool:
    """Some maps serve CS1 as a class of its own above best effort."""
    levels = [(table.serves(mark), table.serves(DF)) for table in config.dscp_maps]
    return any(level is not None and best is not None and level > best for level, best in levels)


def _refuse_lossless_default(config: DeviceConfig) -> None:
    """Where no command sets the mark, copies most likely leave as best effort."""
    lossless = _lossless(config)
    if _priorities(DF, config) & lossless:
        said = gettext_noop("%(platform)s cannot mark ERSPAN, and best effort is lossless here (%(lossless)s)")
        raise MirrorRefused.of(said, platform=config.platform, lossless=_listed(lossless))


def _notes(found: Proposal, source: Interface, config: DeviceConfig) -> list[Message]:
    mirror = found.mirror
    known = not config.interfaces or any(port.has(mirror.origin) for port in config.interfaces)
    is_foreign = mirror.kind is MirrorKind.ERSPAN and not known
    rows = (
        (found.fits is False, TOO_SLOW if mirror.copied is Copied.BOTH else TOO_SLOW_ONE_WAY),
        (found.fits is True and (found.use or 0) > NEARLY_FULL, NEARLY_TOO_SLOW),
        (found.fits is None, SPEED_UNKNOWN),
        (any(row.enabled or row.priorities for row in config.losslessness), LOSSLESS_COPIES),
        (mirror.dscp is not None and any(row.enabled and row.priorities is None for row in config.losslessness), WHICH_PAUSE),
        (is_foreign, FOREIGN_ORIGIN),
        (mirror.kind is MirrorKind.RSPAN, FLOODED),
        (not source.enabled, SHUT),
    )
    values = {"origin": mirror.origin, "vlan": mirror.vlan, "port": source.name}
    return [Message(text, values) for holds, text in rows if holds]
