"""Huawei USG firewalls."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.huawei_usg.counters import counters, rule_uses, unread_hits
from policyhub.vendors.huawei_usg.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="Huawei USG",
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
