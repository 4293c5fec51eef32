"""Names and syntax of IOS-XR that its readers share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from policyhub.domain.evaluation import Stage
from policyhub.domain.qos import QosPolicy
from policyhub.vendorkit.ios_acl import BARE, COMPARED, WITH_VALUE, AclSyntax
from policyhub.vendorkit.ios_reading import IosReading
from policyhub.vendorkit.service_names import ServiceNames

PACKAGE = "policyhub.vendors.cisco_iosxr"
NAMES = ServiceNames.of("policyhub.vendorkit", "ios_names.json").extended(ServiceNames.of(PACKAGE))
ACTIONS = (
    "nexthop1", "nexthop2", "nexthop3", "default", "set", "capture", "police", "icmp-off", "icmp-on", "redirect",
)  # fmt: skip
ACL = AclSyntax(
    NAMES,
    address_groups=("net-group",),
    port_groups=("port-group",),
    bare=(*BARE, "destopts", "hop-by-hop", "dont-fragment", "first-fragment", "is-fragment", "last-fragment"),
    one_value=(*WITH_VALUE, "fragment-type", "ttl-type", "priority"),
    compared=(*COMPARED, "packet-length", "fragment-offset", "hop-limit"),
    counted=(("udf", 3), ("tcp-flags", 1)),
    actions=ACTIONS,
    skipped=("counter",),
    sources_alone=True,
)
SPEEDS = tuple(
    (re.compile(rf"^{name}\d", re.IGNORECASE), gigabits * 10**9)
    for name, gigabits in (
        ("GigabitEthernet", 1),
        ("TenGigE", 10),
        ("TwentyFiveGigE", 25),
        ("FortyGigE", 40),
        ("FiftyGigE", 50),
        ("HundredGigE", 100),
        ("TwoHundredGigE", 200),
        ("FourHundredGigE", 400),
        ("EightHundredGigE", 800),
    )
)


@dataclass(slots=True)
class Reading(IosReading):
    """stages: common lists with the list that is asked behind them. paused: by line card, classes that pause and their lines.
    lpts: policers in front of the route processor.
    """

    stages: list[Stage] = field(default_factory=list)
    lpts: list[QosPolicy] = field(default_factory=list)
    paused: dict[str, dict[int, int]] = field(default_factory=dict)
