"""Huawei VRP: S series switches, AR and NE routers, CloudEngine."""

from datetime import datetime

from policyhub.domain.hits import HitSample
from policyhub.vendorkit.contract import Capability, Vendor
from policyhub.vendors.huawei_vrp import render
from policyhub.vendors.huawei_vrp.parse import parse
from policyhub.vendors.huawei_vrp.push import PROFILE


def counters(text: str, read_at: datetime | None) -> HitSample | None:
    return None


def looks_like(text: str) -> float:
    return 0.0


VENDOR = Vendor(
    name="huawei_vrp",
    label="Huawei VRP",
    parse=parse,
    counters=counters,
    looks_like=looks_like,
    capabilities=frozenset({Capability.GUARD}),
    render=render,
    push=PROFILE,
)
