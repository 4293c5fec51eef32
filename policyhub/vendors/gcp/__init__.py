"""VPC firewall rules of Google Cloud."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.gcp.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="Google Cloud",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={Capability.RULES: Tier.REAL_OUTPUTS},
)
