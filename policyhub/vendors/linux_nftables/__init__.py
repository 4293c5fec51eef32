"""Linux routers and firewalls that are configured with nftables."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendorkit.tc_mirror import MIRRORS
from policyhub.vendorkit.tc_series import series
from policyhub.vendors.linux_nftables import render
from policyhub.vendors.linux_nftables.counters import counters, unread_hits
from policyhub.vendors.linux_nftables.parse import NAME, looks_like, parse
from policyhub.vendors.linux_nftables.push import PROFILE

VENDOR = Vendor(
    name=NAME,
    label="Linux nftables",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.REAL_OUTPUTS,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.QUEUE_COUNTERS: Tier.REAL_OUTPUTS,
        Capability.GUARD: Tier.HARDWARE,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    render=render,
    push=PROFILE,
    series=series,
    mirror=MIRRORS,
)
