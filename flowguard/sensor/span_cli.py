"""`policyhub sensor span`: a mirror session as a proposal. Nothing is sent to any device."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from typing import Any

from flowguard.domain.mirror import Reading, read_counters
from flowguard.domain.mirror_load import ASSUMED_USE, Load, load_of
from flowguard.domain.mirror_proposal import MirrorRefused, Proposal, Wish, propose
from flowguard.sensor.flows_cli import BAD_INPUT, CLEAN, FINDINGS
from flowguard.sensor.span_text import as_text
from flowguard.sensor.words import reader_arguments, translator
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.errors import BadInput, PolicyHubError
from policyhub.domain.message import gettext_noop
from policyhub.domain.mirroring import Copied
from policyhub.domain.reading import read_text
from policyhub.vendorkit.contract import Capability, Vendor
from policyhub.vendorkit.registry import REGISTRY

RATE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([kMGT]?)")
SCALE = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", required=True, metavar="CONFIG", help="running configuration of the device, as text")
    parser.add_argument("--platform", default="", help="platform id, e.g. cisco_nxos; default: told by content")
    parser.add_argument("--source", required=True, metavar="PORT", help="port whose traffic is copied")
    parser.add_argument("--direction", choices=[each.value for each in Copied], default=Copied.BOTH.value)
    parser.add_argument("--destination", default="", metavar="PORT", help="port of this device that the copies leave by")
    parser.add_argument("--vlan", type=int, metavar="N", help="RSPAN: the VLAN that carries the copies")
    parser.add_argument("--collector", default="", metavar="IP", help="ERSPAN: where the copies are sent")
    parser.add_argument("--origin", default="", metavar="IP", help="ERSPAN: the device's address that they come from")
    parser.add_argument("--session", type=int, metavar="N", help="number of the session; default: the next that is free")
    load = parser.add_mutually_exclusive_group()
    load.add_argument("--rate", type=_rate, metavar="BPS", help="traffic of the copied direction(s), e.g. 800M or 3.2G")
    load.add_argument(
        "--counters", metavar="FILE", help="readings of the port's counters (time,packets,bytes), see `policyhub device counters`"
    )
    parser.add_argument(
        "--use", type=_percent, default=ASSUMED_USE, metavar="PERCENT",
        help=f"use of the port's configured speed, each way, when nothing else tells (default {100 * ASSUMED_USE:g})",
    )  # fmt: skip
    parser.add_argument("--capacity", type=_rate, metavar="BPS", help="what the way to the collector carries, e.g. 10G")
    reader_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Exit code: 0 proposed, 1 proposed although the destination is too slow (said), 2 refused or bad input."""
    read = translator(args.lang)
    try:
        vendor, config, proposal = _proposal(args)
    except PolicyHubError as error:
        sys.stderr.write(f"policyhub sensor span: {error.told.read(read)}\n")
        return BAD_INPUT
    if args.format == "json":
        sys.stdout.write(json.dumps(_as_json(vendor, config, proposal, read), ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(as_text(config, proposal, vendor.capabilities[Capability.MIRROR], read))
    return FINDINGS if proposal.fits is False else CLEAN


def _proposal(args: argparse.Namespace) -> tuple[Vendor, DeviceConfig, Proposal]:
    text = read_text(args.device, "Name a file with the device's running configuration")
    vendor = REGISTRY.get(args.platform) if args.platform else REGISTRY.detect(text)
    if vendor is None:
        raise BadInput.at(args.device, None, "no platform is known by its content", "Name it with --platform")
    if vendor.mirror is None:
        raise MirrorRefused.of(gettext_noop("mirror sessions of %(platform)s are not known"), platform=vendor.name)
    config = vendor.parse(text)
    wish = Wish(
        args.source, Copied(args.direction), args.destination, args.vlan, args.collector, args.origin, args.session, args.capacity
    )
    return vendor, config, propose(wish, config, vendor.mirror, text, _load(wish, args, config))


def _load(wish: Wish, args: argparse.Namespace, config: DeviceConfig) -> Load:
    readings: list[Reading] = read_counters(read_text(args.counters), args.counters) if args.counters else []
    port = config.interface(wish.source)
    speed = port.speed_bps if port else None
    return load_of(wish.kind, wish.copied, rate_bps=args.rate, readings=readings, speed_bps=speed, use=args.use)


def _as_json(vendor: Vendor, config: DeviceConfig, proposal: Proposal, read: Callable[[str], str]) -> dict[str, Any]:
    mirror, load = proposal.mirror, proposal.load
    return {
        "schema": "policyhub.span/1", "platform": config.platform, "hostname": config.hostname, "pushed": False,
        "kind": mirror.kind.value, "sessions": list(mirror.numbers), "source": mirror.source, "direction": mirror.copied.value,
        "destination": mirror.destination or None, "vlan": mirror.vlan, "collector": mirror.collector or None,
        "origin": mirror.origin or None, "dscp": mirror.dscp, "lines": list(proposal.commands.lines),
        "way_back": list(proposal.commands.inverse), "check_by": list(proposal.commands.reads),
        "load": {"basis": load.basis, "copied_bps": load.copied_bps, "frames_ps": load.frames_ps, "assumed_use": load.use,
                 "total_bps": load.total_bps, "capacity_bps": proposal.capacity_bps, "fits": proposal.fits},
        "notes": [note.read(read) for note in proposal.notes], "proven": vendor.capabilities[Capability.MIRROR].value,
    }  # fmt: skip


def _rate(text: str) -> float:
    found = RATE.fullmatch(text)
    if found is None or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no rate in bit/s. Write e.g. 800M or 3.2G")
    return float(found[1]) * SCALE[found[2]]


def _percent(text: str) -> float:
    if not re.fullmatch(r"\d{1,3}(\.\d+)?", text) or not 0 < float(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage above 0, up to 100")
    return float(text) / 100
