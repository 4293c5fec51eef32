"""Lines of counters and logs that cannot be read are counted and named; a text that nobody understands is no clean device."""

from __future__ import annotations

import json

import pytest

from policyhub.vendorkit.registry import REGISTRY
from tests.checks.test_check_cli import ASA, HITS, NOVEMBER, as_json, check, write

IOS = "Extended IP access list E\n    10 permit tcp any any eq 80 (12 matches)\n"
JUNOS = "Index   From zone   To zone   Name   Policy count\n1   trust   untrust   web   27\n"
JUNOS_LOG = "RT_FLOW: RT_FLOW_SESSION_CREATE: session created 10.1.1.1/5->10.2.2.2/80 0x0 "
FORTI_LOG = 'date=2026-11-01 time=08:00:00 type="traffic" subtype="forward" '
STONE = "Most hit policy rules:\n1  7   web   Permit  27\n"
PANOS = (
    '<response><result><rule-hit-count><vsys><entry name="vsys1"><rule-base><entry name="security"><rules><entry name="web">\n'
)
PANOS_END = "\n</entry></rules></entry></rule-base></entry></vsys></rule-hit-count></result></response>\n"
USG = "RULE ID  RULE NAME   STATE    ACTION   HITS\n1        web         enable   permit   27\n"
COMWARE = "<fw>display acl all\nAdvanced IPv4 ACL 3000, 2 rules,\nACL's step is 5\n"
COMWARE += " rule 0 permit ip (27 times matched)\n"
SONIC = "RULE NAME    TABLE NAME    PRIO    PACKETS COUNT    BYTES COUNT\n"
SONIC += "-----------  ------------  ------  ---------------  -------------\n"
CUMULUS = (
    "cumulus@leaf1:~$ nv show interface swp1 acl EX statistics\n"
    "Rule  In Packet  In Byte   Out Packet  Out Byte  Summary\n"
    "----  ---------  --------  ----------  --------  -------\n"
    "10    1,203      90 Bytes                        x\n"
)
CHECKPOINT = (
    '{"uid": "L", "name": "Network", "rulebase": [{"uid": "R1", "type": "access-rule", "rule-number": 1, "hits": {"value": %s}}]}'
)
# platform, text, numbers of the lines that must be named
BAD = [
    ("cisco_asa", HITS.format(clock="", first="x7", last=10), (5,)),
    ("cisco_asa", HITS.format(clock="", first=0, last=10).replace("line 2", "lne 2"), (6,)),
    ("cisco_asa", HITS.format(clock="", first=0, last=10).replace("permit tcp", "pxrmit tcp"), (5, 6, 7)),
    (
        "cisco_ios",
        f"{IOS}    20 deny ip any any (1z matches)\n    30 permit ip any any (7 mat\n    4o permit ip any any\n",
        (3, 4, 5),
    ),
    ("cisco_iosxr", "ipv4 access-list E\n 10 permit ipv4 any any (3 matches)\n 20 deny ipv4 any any (x matches)\n", (3,)),
    ("cisco_nxos", "IP access list E\n        statistics per-entry\n        10 permit ip any any [match=x]\n", (3,)),
    ("arista_eos", "IP Access List E\n        counters per-entry\n        10 permit ip any any [match many packets]\n", (3,)),
    ("juniper_junos", f"{JUNOS}2   trust   untrust   dns   2x7\n3   trust   untrust   ssh   4\n", (3,)),
    ("juniper_junos", f"{JUNOS_LOG}web 6\n", (1,)),
    ("paloalto_panos", f"{PANOS}<hit-count>many</hit-count>{PANOS_END}", (1,)),
    ("paloalto_panos", "Nov 1 fw 1,2026/11/01 08:00:00,0123,TRAFFIC,end,2049,2026\n", (1,)),
    ("fortinet_fortios", "idx=1 pkts/bytes=10/100\nidx=2 pkts/bytes=many/100\n", (2,)),
    (
        "fortinet_fortios",
        f"{FORTI_LOG}policyid=1 action=accept\n{FORTI_LOG}policyid=one action=accept\n{FORTI_LOG}sent\n",
        (2, 3),
    ),
    ("huawei_usg", f"{USG}2        dns         enable   permit   2x7\n", (3,)),
    (
        "huawei_vrp",
        "Advanced ACL 3000, 2 rules\nAcl's step is 5\n rule 5 permit ip (2 matches)\n rule 10 deny ip (x matches)\n",
        (4,),
    ),
    ("h3c_comware", f"{COMWARE} rule 5 deny ip (2x times matched)\n", (5,)),
    ("hillstone_stoneos", f"{STONE}2  8   dns   Permit  many\n", (3,)),
    ("hillstone_stoneos", "<6>Nov 1 08:00:00 fw Traffic@FLOW: SESSION: 1.1.1.1:5->2.2.2.2:80(TCP), pol\n", (1,)),
    ("checkpoint_gaia", CHECKPOINT % '"many"', (1,)),
    (
        "sonic",
        f"{SONIC}{'R1':<13}{'T1':<14}{'9000':<8}{'7':<17}700\n{'R2':<13}{'T1':<14}{'9001':<8}{'7x':<17}70\n",
        (4,),
    ),
    ("nvidia_cumulus", f"{CUMULUS}20    1x         10 Bytes\n", (5,)),
    (
        "linux_nftables",
        "table ip f {\n chain i {\n  type filter hook input priority 0;\n  counter packets x bytes 1 accept\n }\n}\n",
        (4,),
    ),
    ("linux_iptables", "*filter\n:INPUT ACCEPT [0:0]\n[x:7] -A INPUT -s 10.0.0.1 -j DROP\nCOMMIT\n", (3,)),
]


@pytest.mark.parametrize(("platform", "text", "lines"), BAD, ids=[f"{row[0]}-{at}" for at, row in enumerate(BAD)])
def test_a_garbled_counter_is_named_with_its_line(platform, text, lines):
    read = REGISTRY.get(platform).unread_hits
    assert tuple(line.line for line in read(text)) == lines
    assert all(line.reason for line in read(text))


@pytest.mark.parametrize("platform", ["cisco_ios", "cisco_iosxr", "huawei_vrp", "h3c_comware"])
def test_where_nothing_printed_means_zero_a_garbled_count_is_none(platform):
    text = next(row[1] for row in BAD if row[0] == platform)
    sample = REGISTRY.get(platform).counters(text, None)
    assert [hit.hits for hit in sample.hits if hit.hits is None] == []
    assert len(sample.hits) == 1


def test_rows_behind_a_garbled_one_still_count():
    sample = REGISTRY.get("juniper_junos").counters(next(row[1] for row in BAD if row[0] == "juniper_junos"), None)
    assert [(hit.key, hit.hits) for hit in sample.hits] == [("trust->untrust web", 27), ("trust->untrust ssh", 4)]


def test_every_platform_with_counters_or_logs_tells_what_it_cannot_read():
    for vendor in REGISTRY.all():
        if "hit-counts" in vendor.capabilities or vendor.rule_uses:
            assert vendor.unread_hits is not None, vendor.name
            assert vendor.unread_hits("hostname x\n! nothing to count\n") == ()


def test_the_report_counts_them_and_the_rest_is_read(capsys, tmp_path):
    asa = write(tmp_path / "fw.cfg", ASA)
    text = HITS.format(clock=NOVEMBER, first="x7", last=10)
    hits = write(tmp_path / "h.txt", text)
    number = next(at for at, line in enumerate(text.splitlines(), 1) if "x7" in line)
    assert check(asa, "--hits", hits, "--only", "disabled-rule") == 0
    told = f"{hits}: lines not read: 1 (first: {number}), its count is not a number"
    assert told in capsys.readouterr().out
    document = as_json(capsys, asa, "--hits", hits)
    (unread,) = document["hits_unread"]
    assert (unread["file"], unread["line"], unread["reason"]) == (str(hits), number, "its count is not a number")
    assert document["devices"][0]["hit_samples"] == 1
    assert check(asa, "--hits", hits, "--format", "sarif", "--only", "disabled-rule") == 0
    shown = capsys.readouterr()
    assert told in shown.err
    assert told in json.loads(shown.out)["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert check(asa, "--hits", hits, "--only", "disabled-rule", "--lang", "zh") == 0
    assert "未读取的行数：1" in capsys.readouterr().out


def test_each_reason_has_its_lines(capsys, tmp_path):
    asa = write(tmp_path / "fw.cfg", ASA)
    text = HITS.format(clock=NOVEMBER, first="x7", last="x9").replace("line 3", "lne 3")
    hits = write(tmp_path / "h.txt", text)
    check(asa, "--hits", hits)
    out = capsys.readouterr().out
    assert "lines not read: 2 (first: 5, 9), its count is not a number" in out
    assert "lines not read: 1 (first: 7), it counts something, and no rule can be told" in out


def test_a_file_of_which_no_counter_is_read_is_skipped_with_its_lines(capsys, tmp_path):
    forti = write(tmp_path / "fg.cfg", "config firewall policy\n    edit 1\n        set action accept\n    next\nend\n")
    log = write(tmp_path / "t.log", f"{FORTI_LOG}policyid=one action=accept\n")
    assert check(forti, "--platform", "fortinet_fortios", "--hits", log) == 3
    assert "lines not read: 1 (first: 1), a traffic log line that names no rule" in capsys.readouterr().out


@pytest.mark.parametrize("platform", REGISTRY.names())
def test_a_text_of_which_nothing_is_understood_is_no_clean_device(capsys, tmp_path, platform):
    notes = write(tmp_path / "notes.txt", "remember the milk\nand 3 eggs, bread\n")
    assert check(notes, "--platform", platform) == 2
    said = capsys.readouterr().err
    assert f"notes.txt: nothing of it is understood as {platform} (line 1: 'remember the milk')" in said
    assert "--platform" in said


def test_a_text_of_another_platform_than_the_named_one_is_no_clean_device(capsys, tmp_path):
    firewall = write(tmp_path / "fw.cfg", ASA)
    assert check(firewall, "--platform", "huawei_usg") == 2
    assert "lines are not understood as huawei_usg (first: line 1); it looks like cisco_asa" in capsys.readouterr().err


def test_beside_a_device_it_is_a_partial_result(capsys, tmp_path):
    write(tmp_path / "notes.txt", "remember the milk\n")
    write(tmp_path / "fw.cfg", ASA)
    assert check(tmp_path, "--platform", "cisco_asa") == 3
    assert "notes.txt: nothing of it is understood as cisco_asa" in capsys.readouterr().out
