"""Huawei VRP: S series switches, AR and NE routers, CloudEngine."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.huawei_vrp import render
from policyhub.vendors.huawei_vrp.counters import counters, unread_hits
from policyhub.vendors.huawei_vrp.mirror import MIRRORS
from policyhub.vendors.huawei_vrp.parse import NAME, looks_like, parse
from policyhub.vendors.huawei_vrp.push import PROFILE
from policyhub.vendors.huawei_vrp.series import series

VENDOR = Vendor(
    name=NAME,
    label="Huawei VRP",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.DOCUMENTATION,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.REAL_OUTPUTS,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.LOSSLESS: Tier.DOCUMENTATION,
        Capability.QUEUE_COUNTERS: Tier.REAL_OUTPUTS,
        Capability.GUARD: Tier.SIMULATED,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    render=render,
    push=PROFILE,
    series=series,
    mirror=MIRRORS,
)
