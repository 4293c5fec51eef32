"""SonicWall firewalls with SonicOS 6.5 and 7."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.sonicwall.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="SonicWall SonicOS",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.DOCUMENTATION,
        Capability.OBJECTS: Tier.DOCUMENTATION,
        Capability.NAT: Tier.DOCUMENTATION,
        Capability.ROUTES: Tier.DOCUMENTATION,
        Capability.QOS: Tier.DOCUMENTATION,
    },
)
