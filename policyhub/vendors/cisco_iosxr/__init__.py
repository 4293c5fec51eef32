"""Cisco IOS-XR."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.cisco_iosxr.counters import counters, unread_hits
from policyhub.vendors.cisco_iosxr.mirror import MIRRORS
from policyhub.vendors.cisco_iosxr.parse import NAME, looks_like, parse
from policyhub.vendors.cisco_iosxr.series import series

VENDOR = Vendor(
    name=NAME,
    label="Cisco IOS-XR",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    series=series,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.DOCUMENTATION,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.DOCUMENTATION,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.LOSSLESS: Tier.DOCUMENTATION,
        Capability.QUEUE_COUNTERS: Tier.REAL_OUTPUTS,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    mirror=MIRRORS,
)
