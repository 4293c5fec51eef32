"""Cisco ASA, PIX and FWSM: read only."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.cisco_asa.counters import counters, unread_hits
from policyhub.vendors.cisco_asa.parse import NAME, looks_like, parse
from policyhub.vendors.cisco_asa.series import series

VENDOR = Vendor(
    name=NAME,
    label="Cisco ASA",
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
        Capability.HIT_COUNTS: Tier.REAL_OUTPUTS,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.QUEUE_COUNTERS: Tier.REAL_OUTPUTS,
    },
    series=series,
)
