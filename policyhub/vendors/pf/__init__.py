"""Packet filter of OpenBSD and FreeBSD."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.pf.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="OpenBSD/FreeBSD pf",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.REAL_OUTPUTS,
    },
)
