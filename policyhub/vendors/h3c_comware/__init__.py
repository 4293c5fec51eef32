"""H3C Comware 7 and 9."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.h3c_comware.counters import counters, rule_uses, unread_hits
from policyhub.vendors.h3c_comware.mirror import MIRRORS
from policyhub.vendors.h3c_comware.parse import NAME, looks_like, parse
from policyhub.vendors.h3c_comware.series import series

VENDOR = Vendor(
    name=NAME,
    label="H3C Comware",
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
        Capability.LOSSLESS: Tier.DOCUMENTATION,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    rule_uses=rule_uses,
    series=series,
    mirror=MIRRORS,
)
