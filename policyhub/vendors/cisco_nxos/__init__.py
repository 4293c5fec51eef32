"""Cisco NX-OS."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.cisco_nxos.counters import counters, unread_hits
from policyhub.vendors.cisco_nxos.mirror import MIRRORS
from policyhub.vendors.cisco_nxos.parse import NAME, looks_like, parse
from policyhub.vendors.cisco_nxos.series import series

VENDOR = Vendor(
    name=NAME,
    label="Cisco NX-OS",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    series=series,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.DOCUMENTATION,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.REAL_OUTPUTS,
        Capability.QOS: Tier.DOCUMENTATION,
        Capability.LOSSLESS: Tier.DOCUMENTATION,
        Capability.QUEUE_COUNTERS: Tier.DOCUMENTATION,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    mirror=MIRRORS,
)
