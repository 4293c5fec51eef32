"""PAN-OS: what is not understood is told with its line and its reason, and nothing else is."""

from __future__ import annotations

from policyhub.vendors.paloalto_panos import VENDOR
from tests.vendors.corners import each_odd, reasons

R = "set rulebase security rules r"
N, QP = "set rulebase nat rules n", "set network qos profile p"
ODD = [
    ("set network odd x 1", "1 not understood"),
    ("set network interface odd x 1", "1 not understood"),
    ("set network interface ethernet ethernet1/1 layer3 odd 1", "1 'odd' of an interface is not understood"),
    ("set network virtual-router v odd 1", "1 not understood"),
    ("set network virtual-router v routing-table odd 1", "1 not understood"),
    ("set network virtual-router v routing-table ip static-route r metric 1", "1 a static route without a destination"),
    ("set network qos odd 1", "1 not understood"),
    ("set network qos profile p odd 1", "1 'odd' of QoS is not understood"),
    ("set network qos interface ethernet1/1 odd 1", "1 'odd' of QoS is not understood"),
    (f"{QP} class-bandwidth-type odd class class1 priority low", "1 class bandwidth in 'odd' is not understood"),
    (f"{QP} class-bandwidth-type mbps class class1 odd 1", "1 'odd' of QoS is not understood"),
    (f"{QP} class-bandwidth-type mbps class class1 class-bandwidth egress-max fast", "1 'fast' is not a rate"),
    (f"{N} odd 1", "1 'odd' of a NAT rule is not understood"),
    (f"{N} source-translation odd x", "1 source translation 'odd' is not understood"),
    (f"{N} source-translation dynamic-ip odd x", "1 'odd' of a source translation is not understood"),
    (f"{N} destination-translation odd x", "1 'odd' of a destination translation is not understood"),
    ("set address a ip-netmask 10.0.0.300", "1 '10.0.0.300' is not an address"),
    ("set address a description x", "1 the address has no value"),
    ("set address a odd x", "1 'odd' of 'a' is not understood"),
    (f"{R} odd 1", "1 'odd' of a rule is not understood"),
    (f"{R} action maybe", "1 action 'maybe' is not understood"),
    ("set rulebase default-security-rules rules intrazone-default odd 1", "1 'odd' of a default rule is not understood"),
    ("set rulebase odd rules r from any", "1 rules of an unknown kind"),
    ("set rulebase security odd 1", "1 rules are expected"),
    ("set policy odd 1", "1 not understood"),
    ("set odd 1", "1 not understood"),
    ("nonsense", "1 not a line of a PAN-OS configuration"),
    ("set zone z network layer3 ethernet1/1\nset zone z odd 1", "2 'odd' of a zone is not understood"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert reasons(VENDOR, text) == [told]
