"""Linux routers and firewalls that are configured with nftables."""

from policyhub.vendorkit.contract import Capability, Vendor
from policyhub.vendors.linux_nftables import render
from policyhub.vendors.linux_nftables.counters import counters
from policyhub.vendors.linux_nftables.parse import NAME, looks_like, parse
from policyhub.vendors.linux_nftables.push import PROFILE

VENDOR = Vendor(
    name=NAME,
    label="Linux nftables",
    parse=parse,
    counters=counters,
    looks_like=looks_like,
    capabilities=frozenset({Capability.RULES, Capability.HIT_COUNTS, Capability.QOS, Capability.GUARD}),
    render=render,
    push=PROFILE,
)
