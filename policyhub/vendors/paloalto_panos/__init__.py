"""Palo Alto Networks PAN-OS and Panorama: read only."""

from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendors.paloalto_panos.counters import counters
from policyhub.vendors.paloalto_panos.logs import rule_uses, unread_hits
from policyhub.vendors.paloalto_panos.parse import NAME, looks_like, parse

VENDOR = Vendor(
    name=NAME,
    label="Palo Alto PAN-OS",
    parse=parse,
    counters=counters,
    unread_hits=unread_hits,
    looks_like=looks_like,
    capabilities={
        Capability.RULES: Tier.REAL_OUTPUTS,
        Capability.OBJECTS: Tier.REAL_OUTPUTS,
        Capability.ZONES: Tier.REAL_OUTPUTS,
        Capability.NAT: Tier.REAL_OUTPUTS,
        Capability.ROUTES: Tier.REAL_OUTPUTS,
        Capability.QOS: Tier.REAL_OUTPUTS,
        Capability.HIT_COUNTS: Tier.DOCUMENTATION,
        Capability.TRAFFIC_LOGS: Tier.DOCUMENTATION,
    },
    rule_uses=rule_uses,
)
