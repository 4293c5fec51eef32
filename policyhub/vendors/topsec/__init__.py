"""Firewalls with TopSec TOS."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.topsec.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="TopSec NGFW",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={Capability.RULES: Tier.DOCUMENTATION, Capability.OBJECTS: Tier.DOCUMENTATION},
)
