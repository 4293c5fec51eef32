"""Check Point: Gaia gateways and Security Management, read only."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.checkpoint_gaia.counters import counters
from policyhub.vendors.checkpoint_gaia.logs import rule_uses, unread_hits
from policyhub.vendors.checkpoint_gaia.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="Check Point Gaia",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.ZONES: Tier.DOCUMENTATION,
        Capability.NAT: Tier.REAL_OUTPUTS,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.REAL_OUTPUTS,
        Capability.TRAFFIC_LOGS: Tier.DOCUMENTATION,
    },
    rule_uses=rule_uses,
)
