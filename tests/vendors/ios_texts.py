"""Words and hostile texts of NX-OS, EOS and IOS-XR for the tests of robustness."""

from __future__ import annotations

COMMON = [
    "permit", "deny", "10 permit tcp", "remark", "any", "host 10.0.0.1", "10.0.0.0/8", "10.0.0.0 0.255.0.255", "eq", "range",
    "65536", "99999999999999999999", "²", "dscp", "precedence", "established", "log", "interface Ethernet1/1", " description",
    " ip access-group A", "in", "sideways", "class-map match-any c", " match dscp 0-99", " match cos 9", "policy-map p",
    " class c", "  set dscp 99", "  police cir 10 xbps", "  police rate", "  bandwidth remaining percent 101", "  shape average",
    "  random-detect minimum-threshold 1 kbytes maximum-threshold", " service-policy type qos input", "hostname", "!", "end",
    "banner motd ^", "^", "vrf", "ip route 10.0.0.0/8", "Null0", "route-map r permit 10", "no", "show access-lists",
]  # fmt: skip
NXOS_PIECES = [
    *COMMON, "ip access-list A", "ipv6 access-list A", "mac access-list A", "object-group ip address g", "object-group ip port g",
    " 10 host", " 20 eq", "addrgroup g", "portgroup g", " statistics per-entry", "vlan access-map m 10", " action drop",
    "vlan filter m vlan-list", "policy-map type network-qos n", " class type network-qos c-8q-nq3", "  pause pfc-cos 3,9-x",
    "system qos", " service-policy type network-qos n", " priority-flow-control mode", "ip nat inside source static",
    "ip nat pool p", " address", "IP access list A", "10 permit ip any any [match=7]", "vrf context v", "  police pps",
    "  police cir 1 mbps bc 1 ms conform", "exceed", "violate", "snmp-server community c use-ipv4acl", "|  QOS GROUP 0  |",
]  # fmt: skip
EOS_PIECES = [
    *COMMON, "ip access-list A", "ip access-list standard A", "traffic-policies", "   field-set ipv4 prefix f", "      except",
    "   field-set l4-port f", "      80-70,x", "   traffic-policy t", "      match m ipv4", "         protocol tcp source port",
    "         source prefix field-set f", "         actions", "            drop", "router segment-security", "   policy p",
    "      10 application a action", "   vrf default", "      segment s", "            from b policy p", "ip nat profile n",
    "   ip nat source static 10.0.0.1 80", "   ip nat source dynamic access-list A pool", "ip nat pool p", "   range",
    "qos profile q", "   tx-queue 3", "      bandwidth percent", "      random-detect ecn minimum-threshold", "   qos trust",
    "   priority-flow-control priority 9 no-drop", "qos map dscp 0-99 to traffic-class", "   service-profile q", "EOF",
    "banner login", "management ssh", "   ip access-group A vrf", "IP Access List A [readonly]", "[match 12 packets, 1 day ago]",
    "ip address virtual source-nat vrf v address", "Port RxPfc TxPfc", "Et1 1 2",
]  # fmt: skip
XR_PIECES = [
    *COMMON, "ipv4 access-list A", "ipv6 access-list A", "ethernet-services access-list A", "object-group network ipv4 g",
    "object-group port g", " host", " range 10.0.0.1", "net-group g", "port-group g", " ipv4 access-group common A B ingress",
    "nexthop1 ipv4", "counter", "route-policy r", "end-policy", "prefix-set s", "end-set", "router static",
    " address-family ipv4 unicast", "  0.0.0.0/0", "control-plane", " management-plane", "  inband", "   interface all",
    "    allow SSH peer", "     address ipv4", "lpts pifib hardware police", " flow bgp default rate", "end-policy-map",
    "line default", " access-class ingress", "ntp", " access-group ipv4 peer", "ssh server vrf v ipv4 access-list",
    "snmp-server community c RO IPv4", "flowspec", "10 permit ipv4 any any (5 hw matches)", "TenGigE0/0/0/0 output: p",
    "Class c", "Matched : 1/2 3",
]  # fmt: skip


def worst_nxos(size: int) -> list[str]:
    rules = "".join(f"  {n} permit tcp 10.{n >> 8 & 255}.{n & 255}.0/24 any eq {n % 60000}\n" for n in range(1, size + 1))
    groups = "".join(f"object-group ip address g{n}\n  host 10.0.{n >> 8 & 255}.{n & 255}\n" for n in range(size // 4))
    uses = "".join(f"  permit ip addrgroup g{n % 99} any\n" for n in range(size // 2))
    clauses = "".join(f"vlan access-map m {n}\n  match ip address A\n  action drop\n" for n in range(size // 4))
    classes = "".join(f"  class c{n}\n    set qos-group 1\n" for n in range(size // 4))
    return [
        "ip access-list A\n" + rules,
        groups + "ip access-list A\n" + uses,
        "object-group ip address g\n"
        + "  10.0.0.0 0.85.85.0\n" * 200
        + "ip access-list A\n"
        + "  permit ip addrgroup g any\n" * 200,
        clauses + "vlan filter m vlan-list 1\n" * (size // 8),
        "policy-map type qos p\n" + classes,
        "banner motd ^\n" * size,
        "\n".join(" " * (n % 400) + "x" for n in range(size)),
        "ip access-list A\n" + "  permit ip 10.0.0.0 0.85.85.85 any\n" * (size // 4),
        "policy-map type qos p\n  class c\n" + "    mtu 9216\n" * size,
    ]


def worst_eos(size: int) -> list[str]:
    prefixes = " ".join(f"10.{n >> 8 & 255}.{n & 255}.0/24" for n in range(size))
    matches = "".join(f"      match m{n} ipv4\n         source prefix 10.0.{n % 250}.0/24\n" for n in range(size // 2))
    queues = "".join(f"interface Ethernet{n}\n   tx-queue 3\n      bandwidth percent 5\n" for n in range(size // 4))
    users = "".join(f"interface Ethernet{n}\n   service-profile q\n" for n in range(size // 4))
    return [
        "traffic-policies\n   traffic-policy t\n      match m ipv4\n         source prefix " + prefixes + "\n",
        "traffic-policies\n   field-set ipv4 prefix f\n      " + prefixes + "\n   traffic-policy t\n" + matches,
        queues,
        "qos profile q\n   qos trust dscp\n   priority-flow-control on\n" + users,
        "banner login\n" * size + "EOF\n",
        "ip nat profile p\n" + "   ip nat source static 10.0.0.1 10.0.0.2\n" * size,
        "ip access-list A\n" + "   permit ip any any\n" * size,
        "".join(" " * (n % 300) + f"router bgp {n}\n" for n in range(size)),
    ]


def worst_xr(size: int) -> list[str]:
    rules = "".join(f" {n} permit tcp 10.{n >> 8 & 255}.{n & 255}.0/24 any eq {n % 60000}\n" for n in range(1, size + 1))
    groups = "".join(f"object-group network ipv4 g{n}\n object-group g{n + 1}\n" for n in range(size // 4))
    ports = "".join(f"interface TenGigE0/0/0/{n}\n ipv4 access-group common A B{n} ingress\n" for n in range(size // 4))
    planes = "".join(f"   interface TenGigE0/0/0/{n}\n    allow SSH\n" for n in range(size // 2))
    return [
        "ipv4 access-list A\n" + rules,
        groups + "ipv4 access-list A\n permit tcp net-group g0 any\n",
        "ipv4 access-list A\n 10 permit ipv4 any any\n" + ports,
        "control-plane\n management-plane\n  inband\n" + planes,
        "route-policy p\n" * size + "end-policy\n",
        "router static\n address-family ipv4 unicast\n" + "  10.0.0.0/8 10.0.0.1\n" * size,
        "class-map match-any c\n" + " match dscp 1\n" * size,
        "a" * (size * 20),
        "lpts pifib hardware police\n" + " flow x rate 1\n" * size,
    ]
