"""Fortinet FortiGate (FortiOS): read only."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.fortinet_fortios.counters import counters
from policyhub.vendors.fortinet_fortios.parse import NAME, looks_like, parse
from policyhub.vendors.fortinet_fortios.traffic_logs import rule_uses, unread_hits

VENDOR = Vendor(
    name=NAME,
    label="Fortinet FortiOS",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.ZONES: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.DOCUMENTATION,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.DOCUMENTATION,
        Capability.TRAFFIC_LOGS: Tier.DOCUMENTATION,
        Capability.QOS: Tier.DOCUMENTATION,
    },
    rule_uses=rule_uses,
)
