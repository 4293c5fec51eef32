"""The same small policy and the same history on each platform: told by content, shadow and zombie found, use respected."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.checks.test_check_cli import check

CONFIG = {
    "cisco_asa": """\
hostname edge-1
interface GigabitEthernet0/0
 nameif outside
 ip address 198.51.100.1 255.255.255.0
access-list IN extended permit tcp any host 192.0.2.10 eq 443
access-list IN extended permit tcp any host 192.0.2.11 eq 25
access-list IN extended deny tcp host 203.0.113.7 host 192.0.2.10 eq 443
access-group IN in interface outside
""",
    "cisco_ios": """\
hostname edge-1
interface GigabitEthernet0/0
 ip address 198.51.100.1 255.255.255.0
 ip access-group IN in
ip access-list extended IN
 10 permit tcp any host 192.0.2.10 eq 443
 20 permit tcp any host 192.0.2.11 eq 25
 30 deny tcp host 203.0.113.7 host 192.0.2.10 eq 443
""",
    "huawei_vrp": """\
sysname edge-1
acl number 3100
 rule 5 permit tcp destination 192.0.2.10 0 destination-port eq 443
 rule 10 permit tcp destination 192.0.2.11 0 destination-port eq 25
 rule 15 deny tcp source 203.0.113.7 0 destination 192.0.2.10 0 destination-port eq 443
interface GigabitEthernet0/0/1
 traffic-filter inbound acl 3100
""",
    "linux_nftables": """\
table inet filter {
	chain forward {
		type filter hook forward priority filter; policy drop;
		ip daddr 192.0.2.10 tcp dport 443 counter packets 7 bytes 420 accept
		ip daddr 192.0.2.11 tcp dport 25 counter packets 0 bytes 0 accept
		ip saddr 203.0.113.7 ip daddr 192.0.2.10 tcp dport 443 counter packets 0 bytes 0 drop
	}
}
""",
}
COUNTERS = {
    "cisco_asa": """\
access-list IN; 3 elements; name hash: 0xa
access-list IN line 1 extended permit tcp any host 192.0.2.10 eq https (hitcnt={n}) 0x00000001
access-list IN line 2 extended permit tcp any host 192.0.2.11 eq smtp (hitcnt=0) 0x00000002
access-list IN line 3 extended deny tcp host 203.0.113.7 host 192.0.2.10 eq https (hitcnt=0) 0x00000003
""",
    "cisco_ios": """\
Extended IP access list IN
    10 permit tcp any host 192.0.2.10 eq 443 ({n} matches)
    20 permit tcp any host 192.0.2.11 eq smtp
    30 deny tcp host 203.0.113.7 host 192.0.2.10 eq 443
""",
    "huawei_vrp": """\
Advanced ACL 3100, 3 rules
Acl's step is 5
 rule 5 permit tcp destination 192.0.2.10 0 destination-port eq 443 ({n} matches)
 rule 10 permit tcp destination 192.0.2.11 0 destination-port eq smtp
 rule 15 deny tcp source 203.0.113.7 0 destination 192.0.2.10 0 destination-port eq 443
""",
    "linux_nftables": CONFIG["linux_nftables"].replace("packets 7", "packets {n}").replace("chain forward {", "chain forward {{"),
}
COUNTERS["linux_nftables"] = COUNTERS["linux_nftables"].replace("filter {\n", "filter {{\n", 1).replace("}\n}", "}}\n}}")


def findings(capsys, tmp_path: Path, platform: str, *readings: tuple[str, int]) -> dict[str, set[int]]:
    """Check name -> numbers (1, 2, 3) of the rules found."""
    config = tmp_path / "device.txt"
    config.write_text(CONFIG[platform])
    argv: list[object] = [config, "--format", "json"]
    for moment, n in readings:
        reading = tmp_path / f"{moment}.txt"
        reading.write_text(COUNTERS[platform].format(n=n))
        argv += ["--hits", f"{reading}@{moment}T08:00"]
    check(*argv)
    document = json.loads(capsys.readouterr().out)
    assert [device["platform"] for device in document["devices"]] == [platform]
    assert not document["skipped"]
    first = min(number for number, line in enumerate(CONFIG[platform].splitlines(), 1) if "192.0.2.10" in line)
    found: dict[str, set[int]] = {}
    for finding in document["findings"]:
        found.setdefault(finding["name"], set()).add(finding["lines"][0] - first + 1)
    return found


@pytest.mark.parametrize("platform", CONFIG)
def test_shadowed_deny_is_found(capsys, tmp_path, platform):
    assert findings(capsys, tmp_path, platform)["shadowed-rule"] == {3}


@pytest.mark.parametrize("platform", CONFIG)
def test_two_readings_a_window_apart_prove_zombies_and_spare_the_used_rule(capsys, tmp_path, platform):
    found = findings(capsys, tmp_path, platform, ("2026-08-01", 7), ("2026-11-29", 90))
    assert found["zombie-rule"] == {2, 3}
    assert "no-hit-evidence" not in found


@pytest.mark.parametrize("platform", CONFIG)
def test_a_counter_that_fell_in_between_proves_nothing(capsys, tmp_path, platform):
    found = findings(capsys, tmp_path, platform, ("2026-08-01", 900), ("2026-11-29", 90))
    assert "zombie-rule" not in found
    assert found["no-hit-evidence"] == {2, 3}


FORTIOS = """\
config system global
    set hostname "fw1"
end
config firewall policy
    edit 5
        set name "web"
        set srcintf "port1"
        set dstintf "port2"
        set srcaddr "all"
        set dstaddr "all"
        set service "HTTPS"
        set action accept
        set schedule "always"
    next
    edit 6
        set name "mail"
        set srcintf "port1"
        set dstintf "port2"
        set srcaddr "all"
        set dstaddr "all"
        set service "SMTP"
        set action accept
        set schedule "always"
    next
end
"""
TRAFFIC_LOG = (
    'date=2026-11-30 time=05:00:00 devname="fw1" devid="FG1" eventtime={seconds} tz="+0800" logid="0000000013" type="traffic" '
    'vd="root" srcip=10.0.0.1 action="close" policyid=5 policytype="policy" sessionid=7 service="HTTPS" sentbyte=1\n'
)


def test_a_traffic_log_of_the_window_shows_use_beside_counters(tmp_path: Path, capsys) -> None:
    config, log = tmp_path / "fw.conf", tmp_path / "traffic.log"
    config.write_text(FORTIOS)
    judged = []
    for more, days in (([], 0), (["--hits", log], 10), (["--hits", log], 400)):
        log.write_text(TRAFFIC_LOG.format(seconds=int(time.time()) - days * 86_400))
        check(config, *more, "--only", "no-hit-evidence", "--format", "json")
        document = json.loads(capsys.readouterr().out)
        assert document["skipped"] == []
        judged.append([finding["evidence"]["rules"] for finding in document["findings"]])
    assert judged == [[2], [1], [2]]
