"""Cisco IOS and IOS-XE."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.cisco_ios import render
from policyhub.vendors.cisco_ios.counters import counters, unread_hits
from policyhub.vendors.cisco_ios.mirror import MIRRORS
from policyhub.vendors.cisco_ios.parse import NAME, looks_like, parse
from policyhub.vendors.cisco_ios.push import PROFILE
from policyhub.vendors.cisco_ios.series import series

VENDOR = Vendor(
    name=NAME,
    label="Cisco IOS / IOS-XE",
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
        Capability.GUARD: Tier.SIMULATED,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    render=render,
    push=PROFILE,
    series=series,
    mirror=MIRRORS,
)
