"""Words and hostile texts of USG and Comware for the tests of robustness."""

from __future__ import annotations

USG_PIECES = [
    "security-policy", " rule name a", ' rule name "x y"', "  source-address 10.0.0.0 mask", "  source-address range",
    "  destination-address address-set a", "  service protocol tcp destination-port", "  service a", "  action permit", "to",
    "65535", "99999999999999999999", "²", "ip address-set a type object", " address 0", "10.0.0.1", "0", "0.0.255.3", "range",
    "address-set a", "ip service-set b type group", " service 0 service-set b", "nat-policy", "  action source-nat",
    "address-group g", "nat server w 0 protocol tcp global", "inside", "www", "interface GigabitEthernet1/0/1",
    " service-manage ping", "permit", "firewall zone name z id 4", " add interface", "traffic-policy", " profile p",
    "  bandwidth upstream maximum-bandwidth", "  action qos profile p", "#", "switch vsys v",
    "RULE ID  RULE NAME STATE ACTION HITS", "1 a enable permit 5", "HRP_S<FW>display nat-policy rule all",
    "%%01POLICY/6/POLICYPERMIT(l):vsys=x, rule-name=r.", "time-range t",
    " absolute-range 00:00:00 99/99/9999 to 99:99 9999/99/99", '"', "ip route-static", "description", "acl number 3000",
    " rule permit tcp", "policy-based-route", "undo",
]  # fmt: skip
COMWARE_PIECES = [
    "security-policy ip", " rule 0 name a", "  action pass", "  source-ip", "  source-ip-subnet 10.0.0.0",
    "  destination-ip-range", "  service-port tcp destination eq", "object-group ip address a", " 0 network subnet",
    "10.0.0.1", "0.0.255.3", "host name", " 1 network group-object a", "exclude", "object-group service s",
    " 0 service tcp source lt", "0", "65535", "99999999999999999999", "²", "object-policy ip p", " rule pass source-ip a",
    "zone-pair security source A destination B", " object-policy apply ip p", " packet-filter 3000", "inbound",
    "acl advanced 3000", " rule permit tcp source object-group a destination-port", "eq", "interface HundredGigE1/0/1",
    " qos wred queue 9 drop-level", " qos wfq af1 group 1 weight", " qos wred apply t", "qos wred queue table t",
    " queue 5 ecn", "qos map-table dscp-lp", " import 0 to 99 export 9", " priority-flow-control no-drop dot1p 3,9-x",
    " nat server global", "current-interface", " nat outbound 3000 address-group", "nat static outbound", "nat global-policy",
    "  action dnat", "IPv4 security policy rule: x", " action: pass (5 packets, 1 bytes)", "Advanced IPv4 ACL 3000, 2 rules,",
    "ACL's step is 0", " rule 5 permit ip (8 times matched)", "Object-policy apply ip p",
    "%%10FILTER/6/FILTER_ZONE_IPV4_EXECUTION: RuleID(1078)=2;SecurityPolicy(1072)=x;MatchCount(1069)=²",
    "GigabitEthernet1/0/1 current state: UP", "BGP Peer is 1.1.1.1, remote AS 1", "Internet Address is 1.1.1.1/99", "#",
    "undo", '"', "time-range t from", "route-policy p permit node 1", "line vty 0 4", " acl 2000 inbound", "qos policy p",
    " classifier c behavior b", "traffic behavior b", " car cir", "ip prefix-list p index 1 permit",
]  # fmt: skip


def worst_usg(size: int) -> list[str]:
    rules = "".join(
        f" rule name r{n}\n  source-address address-set g{n % 50}\n  destination-address 10.{n >> 8 & 255}.{n & 255}.0 mask 24\n"
        f"  service protocol tcp destination-port {n % 60000}\n  action permit\n"
        for n in range(size // 4)
    )
    sets = "".join(
        f"ip address-set g{n} type group\n address 0 address-set g{n + 1}\n address 1 10.{n >> 8 & 255}.{n & 255}.0 mask 24\n"
        for n in range(size // 4)
    )
    systems = "".join(f"switch vsys v{n}\nsecurity-policy\n rule name a\n  action permit\n" for n in range(size // 4))
    return [
        f"{sets}security-policy\n{rules}",
        "RULE ID  RULE NAME  STATE ACTION HITS\n" + "".join(f"{n} r{n} enable permit 5\n" for n in range(size)),
        systems,
        "1 a  b  " * size,
        "%%01POLICY/6/POLICYPERMIT(l): rule-name=a, " * size,
        "nat server a protocol tcp global 10.0.0.1 80 inside 10.0.0.2 80\n" * size,
        "\n".join(" " * (n % 400) + "x" for n in range(size)),
        "rule name a\n" * size,
        '"' * size,
        "interface a1\n service-manage ping permit\n" * size,
    ]


def worst_comware(size: int) -> list[str]:
    rules = "".join(
        f" rule {n} name r{n}\n  action pass\n  source-ip g{n % 50}\n  destination-ip-subnet 10.{n >> 8 & 255}.{n & 255}.0 24\n"
        f"  service-port tcp destination eq {n % 60000}\n"
        for n in range(size // 4)
    )
    groups = "".join(
        f"object-group ip address g{n}\n 0 network group-object g{n + 1}\n 10 network subnet 10.{n >> 8 & 255}.{n & 255}.0 24\n"
        for n in range(size // 4)
    )
    acls = "".join(f"acl advanced {3000 + n}\n rule 0 permit ip\n" for n in range(size // 4))
    ports = "".join(
        f"interface GigabitEthernet1/0/{n}\n packet-filter {3000 + n} inbound\n qos sp\n manage ping inbound\n"
        for n in range(size // 4)
    )
    return [
        f"{groups}security-policy ip\n{rules}",
        acls + ports,
        "ip prefix-list p index 1 permit 10.0.0.0 8\n" * size,
        "".join(f"route-policy p{n} permit node 1\n" for n in range(size)),
        "Advanced IPv4 ACL 3000, 2 rules,\n" + "".join(f" rule {n} permit ip (5 times matched)\n" for n in range(size)),
        "security-policy ip\n" + " rule 0 name a\n rule 1 name b\n move rule 1 before 0\n" * (size // 4),
        "%%10FILTER/6/X: RuleID(1)=2;" * size,
        "a current state: UP " * size,
        "BGP Peer is 1, remote AS 1\n" + "x: y\n" * size,
        "\n".join(" " * (n % 400) + "x" for n in range(size)),
        "qos wred queue table t\n" + " queue 1 ecn\n" * (size // 4) + "interface a1\n qos wred apply t\n" * (size // 40),
    ]
