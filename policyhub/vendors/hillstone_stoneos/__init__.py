"""Hillstone SG-6000 (StoneOS): read only."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.hillstone_stoneos.counters import counters
from policyhub.vendors.hillstone_stoneos.parse import NAME, looks_like, parse
from policyhub.vendors.hillstone_stoneos.traffic_logs import rule_uses, unread_hits

VENDOR = Vendor(
    name=NAME,
    label="Hillstone StoneOS",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.DOCUMENTATION,
        Capability.OBJECTS: Tier.DOCUMENTATION,
        Capability.ZONES: Tier.DOCUMENTATION,
        Capability.NAT: Tier.DOCUMENTATION,
        Capability.ROUTES: Tier.DOCUMENTATION,
        Capability.HIT_COUNTS: Tier.DOCUMENTATION,
        Capability.TRAFFIC_LOGS: Tier.DOCUMENTATION,
        Capability.QOS: Tier.DOCUMENTATION,
    },
    rule_uses=rule_uses,
)
