"""Comware: what is not understood is told with its line and its reason, and nothing else is."""

from __future__ import annotations

from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.corners import each_odd, reasons

VENDOR = REGISTRY.get("h3c_comware")
PORT = "interface GigabitEthernet1/0/1\n "
R = "security-policy ip\n rule 0 name r\n  "
ODD = [
    (f"{R}action maybe", "3 'maybe' is not pass or drop"),
    (f"{R}odd", "3 'odd' is not understood in a rule"),
    (f"{R}source-odd x", "3 'odd' is not a form of address"),
    (f"{R}source-ip-host odd", "3 'odd' is not an address"),
    (f"{R}service-port icmp 300", "3 '300' is not an ICMP type"),
    (f"{R}service-port icmp 3 256", "3 '256' is not an ICMP code (0..255)"),
    ("security-policy ip\n rule odd", "2 a rule needs an id or a name"),
    ("object-group odd x", "1 object groups of 'odd' are not modelled"),
    ("object-group ip odd x", "1 object-group ip address is expected"),
    ("object-group ip address a\n 0 network odd 10.0.0.1", "2 'odd' is not host, subnet, range or group-object"),
    ("object-policy ip p\n rule odd", "2 'odd' is not pass or drop"),
    ("object-policy ip p\n rule pass odd", "2 'odd' is not understood in a rule"),
    ("zone-pair odd", "1 zone-pair security source is expected"),
    ("zone-pair security source a", "1 destination is expected"),
    ("acl number 3000 odd", "1 'odd' is not understood here"),
    ("acl advanced", "1 an ACL needs a number or a name"),
    ("nat global-policy\n rule name n\n  action odd x", "3 'odd' is not snat or dnat"),
    ("nat global-policy\n rule name n\n  action snat odd", "3 'odd' is not understood in a NAT action"),
    ("nat static odd", "1 'odd' is not outbound or inbound"),
    ("nat static outbound 10.0.0.1", "1 two addresses are expected"),
    ("nat static outbound object-group a object-group b", "1 static NAT of object groups is not modelled"),
    (f"{PORT}nat outbound odd", "2 'odd' is not understood here"),
    (f"{PORT}nat server odd", "2 'odd' is not understood in a NAT server"),
    (f"{PORT}nat server global odd inside 10.0.0.1", "2 'odd' is not an address"),
    (f"{PORT}nat odd", "2 not understood"),
    (f"{PORT}qos odd", "2 qos 'odd' is not modelled"),
    (f"{PORT}qos trust odd", "2 trust 'odd' is not modelled"),
    (f"{PORT}qos apply odd", "2 qos apply policy is expected"),
    (f"{PORT}qos car inbound odd", "2 any, acl or carl is expected"),
    (f"{PORT}qos lr inbound cir 1000", "2 qos lr inbound is not modelled"),
    (f"{PORT}qos lr outbound 1000", "2 cir is expected"),
    (f"{PORT}qos lr outbound cir 1000 odd 1", "2 'odd' is not understood in a rate"),
    (f"{PORT}qos gts odd", "2 any or queue is expected"),
    (f"{PORT}qos wred queue 7 odd", "2 'odd' is not understood in WRED"),
    (f"{PORT}qos wred queue 7 drop-level 3", "2 '3' is not a drop level (0..2)"),
    (f"{PORT}qos wred queue 8 ecn", "2 '8' is not a queue be, af1..af4, ef, cs6, cs7 (0..7)"),
    (f"{PORT}qos wred apply nobody", "2 WRED table 'nobody' is not defined here"),
    (f"{PORT}priority-flow-control odd", "2 priority-flow-control 'odd' is not modelled"),
    (f"{PORT}priority-flow-control no-drop dot1p 8", "2 '8' is not a priority (0..7)"),
    (f"{PORT}manage odd inbound", "2 'odd' is not a service of the device"),
    ("qos odd", "1 qos 'odd' is not modelled"),
    ("qos vlan-policy p odd", "1 vlan is expected"),
    ("qos wred odd", "1 qos wred table is expected"),
    ("qos map-table dscp-lp\n import 64 export 1", "2 '64' is not a value (0..63)"),
    ("qos map-table dscp-lp\n odd", "2 import is expected"),
    ("ip prefix-list p maybe 10.0.0.0 8", "1 'maybe' is not permit or deny"),
    ("route-policy r permit 10", "1 permit or deny, and node are expected"),
    ("traffic odd", "1 not a traffic classifier or behavior"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert reasons(VENDOR, text + "\n") == [told]
