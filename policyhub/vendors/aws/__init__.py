"""Security groups and network ACLs of Amazon VPC."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.aws.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="Amazon VPC",
    parse=parse,
    counters=lambda text, read_at: None,
    looks_like=looks_like,
    capabilities={Capability.RULES: Tier.REAL_OUTPUTS, Capability.OBJECTS: Tier.REAL_OUTPUTS},
)
