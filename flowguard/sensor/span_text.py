"""A proposed mirror session, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flowguard.domain.mirror_load import ASSUMED_FRAME, Load
from flowguard.domain.mirror_proposal import Proposal
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.message import gettext_noop
from policyhub.domain.qos import dscp_name
from policyhub.vendorkit.contract import Tier

HEAD = gettext_noop("PROPOSAL for %(device)s (%(platform)s). Nothing was sent to any device.")
WHAT = gettext_noop("%(kind)s, session %(session)s: %(source)s (%(direction)s) to %(to)s")
MARK = gettext_noop("Copies carry DSCP %(dscp)d (%(name)s), the lowest class that is not lossless.")
LOADS = {
    "given": gettext_noop("Expected load: %(load)s (as given)"),
    "counters": gettext_noop("Expected load: %(load)s (busiest interval of the counters)"),
    "assumed": gettext_noop("Expected load: %(load)s (assumed: %(use)g %% of the configured speed, each way)"),
    "unknown": gettext_noop("Expected load: unknown"),
}
HEADERS = gettext_noop("with outer headers of %(bytes)d bytes a copy: %(load)s")
BY_FRAMES = gettext_noop("with outer headers of %(bytes)d bytes a copy, %(frame)d bytes a frame assumed: %(load)s")
CAPACITY = gettext_noop("Destination: %(capacity)s, filled to %(percent)d %%")
CAPACITY_ALONE = gettext_noop("Destination: %(capacity)s")
CAPACITY_UNKNOWN = gettext_noop("Destination: speed unknown")
LINES, BACK, CHECK = gettext_noop("Lines:"), gettext_noop("Way back:"), gettext_noop("See afterwards:")
NOTE, PROVEN = (
    gettext_noop("Note: %(note)s"),
    gettext_noop("These lines are %(tier)s; try them where nothing depends on the device."),
)
UNITS = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))


def as_text(config: DeviceConfig, proposal: Proposal, tier: Tier, read: Callable[[str], str]) -> str:
    mirror, commands = proposal.mirror, proposal.commands
    to = mirror.collector or mirror.destination or f"VLAN {mirror.vlan}"
    sessions = ", ".join(map(str, mirror.numbers))
    lines = [
        read(HEAD) % {"device": config.hostname or "-", "platform": config.platform},
        read(WHAT)
        % {"kind": mirror.kind.upper(), "session": sessions, "source": mirror.source, "direction": mirror.copied.value, "to": to},
    ]
    if mirror.dscp is not None:
        lines.append(read(MARK) % {"dscp": mirror.dscp, "name": dscp_name(mirror.dscp)})
    lines += [*_load(proposal.load, read), _capacity(proposal, read)]
    for title, rows in ((LINES, commands.lines), (BACK, commands.inverse), (CHECK, commands.reads)):
        lines += ["", read(title), *(f"  {row}" for row in rows)]
    lines += ["", *(read(NOTE) % {"note": note.read(read)} for note in proposal.notes)]
    lines.append(read(PROVEN) % {"tier": read(tier.value)})
    return "\n".join(lines) + "\n"


def _load(load: Load, read: Callable[[str], str]) -> Iterator[str]:
    yield read(LOADS[load.basis]) % {"load": _rate(load.copied_bps), "use": 100 * (load.use or 0)}
    if load.added_bytes and load.total_bps is not None:
        text = HEADERS if load.basis == "counters" else BY_FRAMES
        yield "  " + read(text) % {"bytes": load.added_bytes, "frame": ASSUMED_FRAME, "load": _rate(load.total_bps)}


def _capacity(proposal: Proposal, read: Callable[[str], str]) -> str:
    if not proposal.capacity_bps:
        return read(CAPACITY_UNKNOWN)
    text = CAPACITY_ALONE if proposal.use is None else CAPACITY
    return read(text) % {"capacity": _rate(proposal.capacity_bps), "percent": round(100 * (proposal.use or 0))}


def _rate(bps: float | None) -> str:
    value = bps or 0
    for scale, unit in UNITS:
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g} bit/s"
