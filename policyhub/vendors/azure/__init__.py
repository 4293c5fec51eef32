"""Network security groups of Microsoft Azure."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.azure.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="Microsoft Azure",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={Capability.RULES: Tier.REAL_OUTPUTS},
)
