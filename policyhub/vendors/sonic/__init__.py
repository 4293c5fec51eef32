"""Switches with SONiC."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.sonic.counters import counters, unread_hits
from policyhub.vendors.sonic.mirror import MIRRORS
from policyhub.vendors.sonic.parse import NAME, looks_like, parse
from policyhub.vendors.sonic.series import series

VENDOR = Vendor(
    name=NAME,
    label="SONiC",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    series=series,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.DOCUMENTATION,
        Capability.ROUTES: Tier.DOCUMENTATION,
        Capability.HIT_COUNTS: Tier.REAL_OUTPUTS,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.LOSSLESS: Tier.REAL_OUTPUTS,
        Capability.QUEUE_COUNTERS: Tier.REAL_OUTPUTS,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    mirror=MIRRORS,
)
