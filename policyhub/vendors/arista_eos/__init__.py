"""Arista EOS."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.arista_eos.counters import counters, unread_hits
from policyhub.vendors.arista_eos.mirror import MIRRORS
from policyhub.vendors.arista_eos.parse import NAME, looks_like, parse
from policyhub.vendors.arista_eos.series import series

VENDOR = Vendor(
    name=NAME,
    label="Arista EOS",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    series=series,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.DOCUMENTATION,
        Capability.ZONES: Tier.DOCUMENTATION,
        Capability.NAT: Tier.REAL_OUTPUTS,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.DOCUMENTATION,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.LOSSLESS: Tier.REAL_OUTPUTS,
        Capability.QUEUE_COUNTERS: Tier.DOCUMENTATION,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    mirror=MIRRORS,
)
