"""Juniper Junos OS: read only."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.juniper_junos.counters import counters, rule_uses, unread_hits
from policyhub.vendors.juniper_junos.mirror import MIRRORS
from policyhub.vendors.juniper_junos.parse import NAME, looks_like, parse
from policyhub.vendors.juniper_junos.series import series

VENDOR = Vendor(
    name=NAME,
    label="Juniper Junos OS",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.ZONES: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.REAL_OUTPUTS,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.REAL_OUTPUTS,
        Capability.TRAFFIC_LOGS: Tier.DOCUMENTATION,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.LOSSLESS: Tier.DOCUMENTATION,
        Capability.QUEUE_COUNTERS: Tier.REAL_OUTPUTS,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    rule_uses=rule_uses,
    series=series,
    mirror=MIRRORS,
)
