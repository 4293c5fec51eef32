"""Routers and firewalls with VyOS."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.vyos.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="VyOS",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.ZONES: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.REAL_OUTPUTS,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
    },
)
