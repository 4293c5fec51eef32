"""Linux routers and firewalls that are configured with iptables."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendorkit.tc_mirror import MIRRORS
from policyhub.vendorkit.tc_series import series
from policyhub.vendors.linux_iptables.counters import counters, unread_hits
from policyhub.vendors.linux_iptables.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="Linux iptables",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.DOCUMENTATION,
        Capability.NAT: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.REAL_OUTPUTS,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.QUEUE_COUNTERS: Tier.REAL_OUTPUTS,
        Capability.MIRROR: Tier.DOCUMENTATION,
    },
    series=series,
    mirror=MIRRORS,
)
