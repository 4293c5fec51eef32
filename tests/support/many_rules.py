"""Texts of as many rules as asked for, one shape for each platform: addresses change from rule to rule, nothing else is repeated.

A row is what stands above the rules, one rule, what stands between two, and what stands below. `@n` is the number of the rule from
1, `@a` and `@b` the second and third octet that it names; a rule takes one or several lines as the device writes them.
"""

# ruff: noqa: E501 (a row is one rule as the device writes it)

from __future__ import annotations

ROWS: dict[str, tuple[str, str, str, str]] = {
    "arista_eos": ("ip access-list A\n", "   @n permit tcp 10.@a.@b.0/24 host 172.16.@a.@b eq 443\n", "", ""),
    "aws": (
        '{"SecurityGroups": [{"GroupId": "sg-1", "GroupName": "g", "VpcId": "vpc-1", "IpPermissionsEgress": [], "IpPermissions": [\n',
        '{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "IpRanges": [{"CidrIp": "10.@a.@b.0/24"}]}',
        ",\n",
        "\n]}]}\n",
    ),
    "azure": (
        '{"name": "g", "type": "Microsoft.Network/networkSecurityGroups", "properties": {"securityRules": [\n',
        '{"name": "r@n", "properties": {"protocol": "TCP", "sourcePortRange": "*", "destinationPortRange": "443",'
        ' "sourceAddressPrefix": "10.@a.@b.0/24", "destinationAddressPrefix": "*", "access": "Allow", "priority": @n,'
        ' "direction": "Inbound"}}',
        ",\n",
        "\n]}}\n",
    ),
    "checkpoint_gaia": (
        '{"uid": "L1", "name": "Network", "rulebase": [\n',
        '{"uid": "r@n", "name": "rule @n", "type": "access-rule", "rule-number": @n, "track": {"type": "log"},'
        ' "source": [{"uid": "s@n", "name": "n@n", "type": "network", "subnet4": "10.@a.@b.0", "mask-length4": 24}],'
        ' "source-negate": false, "destination": [{"uid": "d@n", "name": "h@n", "type": "host", "ipv4-address": "172.16.@a.@b"}],'
        ' "destination-negate": false, "service": ["any"], "service-negate": false, "vpn": ["any"], "action": "al",'
        ' "content": ["any"], "time": ["any"], "comments": "", "enabled": true, "install-on": ["pt"]}',
        ",\n",
        '\n], "objects-dictionary": [{"uid": "any", "name": "Any", "type": "CpmiAnyObject"},'
        ' {"uid": "al", "name": "Accept", "type": "RulebaseAction"}, {"uid": "pt", "name": "Policy Targets", "type": "Global"},'
        ' {"uid": "log", "name": "Log", "type": "Track"}]}\n',
    ),
    "cisco_asa": (
        "ASA Version 9.16(1)\n",
        "access-list A extended permit tcp 10.@a.@b.0 255.255.255.0 host 172.16.@a.@b eq 443\n",
        "",
        "",
    ),
    "cisco_ios": ("ip access-list extended A\n", " permit tcp 10.@a.@b.0 0.0.0.255 host 172.16.@a.@b eq 443\n", "", ""),
    "cisco_iosxr": ("ipv4 access-list A\n", " @n permit tcp 10.@a.@b.0 0.0.0.255 host 172.16.@a.@b eq 443\n", "", "!\n"),
    "cisco_nxos": ("ip access-list A\n", "  @n permit tcp 10.@a.@b.0/24 172.16.@a.@b/32 eq 443\n", "", ""),
    "fortinet_fortios": (
        "config firewall policy\n",
        '    edit @n\n        set srcintf "wan1"\n        set dstintf "lan"\n        set srcaddr "all"\n        set dstaddr "all"\n'
        '        set action accept\n        set schedule "always"\n        set service "HTTPS"\n    next\n',
        "",
        "end\n",
    ),
    "gcp": (
        "[\n",
        '{"name": "r@n", "network": "global/networks/prod", "direction": "INGRESS", "priority": @n,'
        ' "sourceRanges": ["10.@a.@b.0/24"], "allowed": [{"IPProtocol": "tcp", "ports": ["443"]}]}',
        ",\n",
        "\n]\n",
    ),
    "h3c_comware": (
        "security-policy ip\n",
        " rule @n name r@n\n  action pass\n  source-zone Untrust\n  destination-zone DMZ\n  source-ip-subnet 10.@a.@b.0 255.255.255.0\n"
        "  destination-ip-host 172.16.@a.@b\n  service-port tcp destination eq 443\n",
        "",
        "",
    ),
    "hillstone_stoneos": (
        "",
        'rule id @n\n  action permit\n  src-zone "trust"\n  dst-zone "untrust"\n  src-ip 10.@a.@b.0/24\n  dst-ip 172.16.@a.@b/32\n'
        '  service "HTTPS"\nexit\n',
        "",
        "",
    ),
    "huawei_usg": (
        "security-policy\n",
        " rule name r@n\n  source-zone trust\n  destination-zone untrust\n  source-address 10.@a.@b.0 mask 24\n"
        "  destination-address 172.16.@a.@b mask 32\n  service http\n  action permit\n",
        "",
        "#\n",
    ),
    "huawei_vrp": (
        "acl number 3000\n",
        " rule @n permit tcp source 10.@a.@b.0 0.0.0.255 destination 172.16.@a.@b 0 destination-port eq 443\n",
        "",
        "#\n",
    ),
    "juniper_junos": (
        "",
        "set firewall family inet filter F term t@n from source-address 10.@a.@b.0/24\n"
        "set firewall family inet filter F term t@n from protocol tcp\n"
        "set firewall family inet filter F term t@n from destination-port 443\nset firewall family inet filter F term t@n then accept\n",
        "",
        "",
    ),
    "linux_iptables": (
        "*filter\n:INPUT DROP [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n",
        "-A FORWARD -s 10.@a.@b.0/24 -d 172.16.@a.@b/32 -p tcp -m tcp --dport 443 -j ACCEPT\n",
        "",
        "COMMIT\n",
    ),
    "linux_nftables": (
        "table ip f {\n\tchain c {\n\t\ttype filter hook forward priority filter; policy drop;\n",
        "\t\tip saddr 10.@a.@b.0/24 ip daddr 172.16.@a.@b tcp dport 443 accept\n",
        "",
        "\t}\n}\n",
    ),
    "mikrotik": (
        "/ip firewall filter\n",
        "add action=accept chain=forward src-address=10.@a.@b.0/24 dst-address=172.16.@a.@b protocol=tcp dst-port=443\n",
        "",
        "",
    ),
    "nvidia_cumulus": (
        "nv set acl A type ipv4\n",
        "nv set acl A rule @n match ip source-ip 10.@a.@b.0/24\nnv set acl A rule @n match ip tcp dest-port 443\n"
        "nv set acl A rule @n action permit\n",
        "",
        "",
    ),
    "opnsense_pfsense": (
        '<?xml version="1.0"?>\n<pfsense>\n<filter>\n',
        "<rule><type>pass</type><interface>lan</interface><ipprotocol>inet</ipprotocol><protocol>tcp</protocol>"
        "<source><address>10.@a.@b.0/24</address></source>"
        "<destination><address>172.16.@a.@b</address><port>443</port></destination><descr>r@n</descr></rule>\n",
        "",
        "</filter>\n</pfsense>\n",
    ),
    "paloalto_panos": (
        '<config version="10.2.0" urldb="x"><devices><entry name="d"><vsys><entry name="vsys1"><rulebase><security><rules>\n',
        '<entry name="r@n"><from><member>trust</member></from><to><member>dmz</member></to><source><member>10.@a.@b.0/24</member></source>'
        "<destination><member>172.16.@a.@b</member></destination><application><member>any</member></application>"
        "<service><member>service-http</member></service><action>allow</action></entry>\n",
        "",
        "</rules></security></rulebase></entry></vsys></entry></devices></config>\n",
    ),
    "pf": ("", "pass in quick on em0 proto tcp from 10.@a.@b.0/24 to 172.16.@a.@b port 443\n", "", ""),
    "sonic": (
        '{"ACL_TABLE": {"T": {"type": "L3", "stage": "ingress", "ports": ["Ethernet0"]}},\n"ACL_RULE": {\n',
        '"T|R@n": {"PRIORITY": "@n", "SRC_IP": "10.@a.@b.0/24", "IP_PROTOCOL": "6", "L4_DST_PORT": "443", "PACKET_ACTION": "FORWARD"}',
        ",\n",
        "\n}}\n",
    ),
    "topsec": (
        "define service add name https-x protocol 6 port 8443\n",
        "define subnet add name n@n ipaddr 10.@a.@b.0 mask 255.255.255.0\n"
        "ID @n firewall policy add action accept src 'n@n ' dst '' service 'https-x '  vsid 0\n",
        "",
        "",
    ),
    "vmware_nsx": (
        '{"results": [{"resource_type": "SecurityPolicy", "id": "app", "category": "Application", "sequence_number": 10, "rules": [\n',
        '{"resource_type": "Rule", "id": "r@n", "action": "ALLOW", "sequence_number": @n, "source_groups": ["10.@a.@b.0/24"],'
        ' "destination_groups": ["172.16.@a.@b"], "services": ["ANY"], "direction": "IN"}',
        ",\n",
        "\n]}]}\n",
    ),
    "vyos": (
        "set firewall name F default-action drop\n",
        "set firewall name F rule @n action accept\nset firewall name F rule @n protocol tcp\n"
        "set firewall name F rule @n source address 10.@a.@b.0/24\nset firewall name F rule @n destination port 443\n",
        "",
        "",
    ),
}


def many_rules(platform: str, rules: int) -> str:
    """A text of the platform with that many rules, every line of which is understood."""
    above, rule, between, below = ROWS[platform]
    numbered = (_one(rule, n) for n in range(1, rules + 1))
    return above + between.join(numbered) + below


def _one(rule: str, number: int) -> str:
    low, high = str(number % 250 + 1), str(number // 250 % 250)
    return rule.replace("@n", str(number)).replace("@a", high).replace("@b", low)
