"""Switches with NVIDIA Cumulus Linux."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.nvidia_cumulus.counters import counters, unread_hits
from policyhub.vendors.nvidia_cumulus.mirror import MIRRORS
from policyhub.vendors.nvidia_cumulus.parse import NAME, looks_like, parse
from policyhub.vendors.nvidia_cumulus.series import series

VENDOR = Vendor(
    name=NAME,
    label="NVIDIA Cumulus Linux",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.DOCUMENTATION,
        Capability.NAT: Tier.DOCUMENTATION,
        Capability.ROUTES: Tier.DOCUMENTATION,
        Capability.HIT_COUNTS: Tier.DOCUMENTATION,
        Capability.QOS: Tier.DOCUMENTATION,
        Capability.LOSSLESS: Tier.DOCUMENTATION,
        Capability.QUEUE_COUNTERS: Tier.DOCUMENTATION,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    series=series,
    mirror=MIRRORS,
)
