"""Services that a platform knows without configuration: a data file per vendor, its source stated in it."""

from __future__ import annotations

import json
from importlib.resources import files

from policyhub.domain.addresses import Interval
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, TCP, UDP, Service
from policyhub.vendorkit.operands import Services, compact
from policyhub.vendorkit.service_names import icmp_service

PROTOCOLS = {"tcp": TCP, "udp": UDP, "icmp": ICMP, "icmp6": ICMPV6, "sctp": 132}


def read_predefined(package: str, file: str = "services.json") -> dict[str, Services]:
    """Lower-case name -> services. Values are lists of `tcp 80`, `udp 137-139`, `icmp 8:0`, `icmp`, `proto 47`, `any`."""
    data = json.loads(files(package).joinpath(file).read_text(encoding="utf-8"))
    return {name.lower(): compact(_service(text) for text in texts) for name, texts in data["services"].items()}


def _service(text: str) -> Service:
    if text == "any":
        return ANY_SERVICE
    word, _, rest = text.partition(" ")
    if word == "proto":
        return Service.of(int(rest))
    protocol = PROTOCOLS[word]
    if not rest:
        return Service.of(protocol)
    if protocol in (ICMP, ICMPV6):
        kind, _, code = rest.partition(":")
        return icmp_service(int(kind), int(code) if code else None, protocol)
    intervals: list[Interval] = []
    for part in rest.split(","):
        low, _, high = part.partition("-")
        intervals.append((int(low), int(high or low)))
    return Service.of(protocol, tuple(intervals))
