"""Huawei VRP: S series switches, AR and NE routers, CloudEngine."""

from policyhub.vendorkit.contract import Capability, Vendor
from policyhub.vendors.huawei_vrp import render
from policyhub.vendors.huawei_vrp.counters import counters
from policyhub.vendors.huawei_vrp.parse import NAME, looks_like, parse
from policyhub.vendors.huawei_vrp.push import PROFILE

VENDOR = Vendor(
    name=NAME,
    label="Huawei VRP",
    parse=parse,
    counters=counters,
    looks_like=looks_like,
    capabilities=frozenset({Capability.RULES, Capability.HIT_COUNTS, Capability.QOS, Capability.GUARD}),
    render=render,
    push=PROFILE,
)
