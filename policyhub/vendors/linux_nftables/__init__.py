"""Linux routers and firewalls that are configured with nftables."""

from datetime import datetime

from policyhub.domain.hits import HitSample
from policyhub.vendorkit.contract import Capability, Vendor
from policyhub.vendors.linux_nftables import render
from policyhub.vendors.linux_nftables.parse import parse
from policyhub.vendors.linux_nftables.push import PROFILE


def counters(text: str, read_at: datetime | None) -> HitSample | None:
    return None


def looks_like(text: str) -> float:
    return 0.0


VENDOR = Vendor(
    name="linux_nftables",
    label="Linux nftables",
    parse=parse,
    counters=counters,
    looks_like=looks_like,
    capabilities=frozenset({Capability.GUARD}),
    render=render,
    push=PROFILE,
)
