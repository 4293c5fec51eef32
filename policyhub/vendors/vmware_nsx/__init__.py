"""Distributed and gateway firewalls of VMware NSX."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.vmware_nsx.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="VMware NSX",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={Capability.RULES: Tier.REAL_OUTPUTS, Capability.OBJECTS: Tier.DOCUMENTATION},
)
