"""Cisco ASA, PIX and FWSM: read only."""

from policyhub.vendorkit.contract import Capability, Vendor
from policyhub.vendors.cisco_asa.counters import counters
from policyhub.vendors.cisco_asa.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="Cisco ASA",
    parse=parse,
    counters=counters,
    looks_like=looks_like,
    capabilities=frozenset({Capability.RULES, Capability.HIT_COUNTS, Capability.QOS}),
)
