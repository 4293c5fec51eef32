"""Cisco IOS and IOS-XE."""

from policyhub.vendorkit.contract import Capability, Vendor
from policyhub.vendors.cisco_ios import render
from policyhub.vendors.cisco_ios.counters import counters
from policyhub.vendors.cisco_ios.parse import NAME, looks_like, parse
from policyhub.vendors.cisco_ios.push import PROFILE

VENDOR = Vendor(
    name=NAME,
    label="Cisco IOS / IOS-XE",
    parse=parse,
    counters=counters,
    looks_like=looks_like,
    capabilities=frozenset({Capability.RULES, Capability.HIT_COUNTS, Capability.QOS, Capability.GUARD}),
    render=render,
    push=PROFILE,
)
