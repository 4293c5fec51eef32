"""Routers with MikroTik RouterOS."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.mikrotik.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="MikroTik RouterOS",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.ZONES: Tier.DOCUMENTATION,
        Capability.NAT: Tier.REAL_OUTPUTS,
        Capability.ROUTES: Tier.DOCUMENTATION,
    },
)
