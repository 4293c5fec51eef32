"""Firewalls with pfSense and OPNsense."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.opnsense_pfsense.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="pfSense/OPNsense",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.DOCUMENTATION,
        Capability.OBJECTS: Tier.DOCUMENTATION,
        Capability.NAT: Tier.DOCUMENTATION,
    },
)
