"""FortiOS: hit counters of both layouts and of the REST monitor, and traffic logs, of several vdoms."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from policyhub.vendors.fortinet_fortios import VENDOR

READ_AT = datetime(2026, 11, 30, 6, tzinfo=UTC)


def test_both_layouts_of_iprope_and_both_families_add_up_under_the_vdom_of_the_prompt() -> None:
    text = (
        "FGT (guest) # diagnose firewall iprope show 100004 2\n"
        "idx=2 pkts/bytes=10/1000 asic_pkts/asic_bytes=0/0 flag=0x0 hit count:3 (3 0 0 0 0 0 0 0)\n"
        "    first:2026-11-29 10:00:00 last:2026-11-30 05:00:00\n"
        "FGT (guest) # diagnose firewall iprope6 show 100004 2\n"
        "idx:2\nbytes:50 (50 0 0 0 0 0 0 0)\nhit count:1 (1 0 0 0 0 0 0 0)\n"
        "FGT (guest) # diagnose firewall iprope show 100000 7\n"
        "idx=7 pkts/bytes=1/1 hit count:99 (99 0 0 0 0 0 0 0)\n"
    )
    sample = VENDOR.counters(text, READ_AT)
    assert sample is not None
    assert [(hit.policy, hit.key, hit.hits, hit.bytes) for hit in sample.hits] == [
        ("guest/firewall policy", "2", 3, 1000),
        ("guest/firewall policy", "2", 1, 50),
    ]
    assert sample.covers_from == READ_AT - timedelta(days=7)
    assert sample.hits[0].last_hit_at == datetime(2026, 11, 30, 5)  # noqa: DTZ001 (the device's own clock)


def test_counters_of_an_old_release_count_since_nobody_knows_when() -> None:
    sample = VENDOR.counters("idx=1 pkts/bytes=1/2 asic_pkts/asic_bytes=0/0 flag=0x0 hit count:5\n", READ_AT)
    assert sample is not None
    assert sample.covers_from is None
    assert sample.hits[0].hits == 5


def rest(vdom: str, *rows: dict[str, object]) -> dict[str, object]:
    return {"path": "firewall", "name": "policy", "vdom": vdom, "results": list(rows)}


def test_rest_answers_of_several_vdoms_are_kept_apart() -> None:
    rows = [rest("root", {"policyid": 1, "hit_count": 4, "bytes": 9, "last_used": 1764000000}), rest("guest", {"policyid": 1})]
    sample = VENDOR.counters(json.dumps(rows), READ_AT)
    assert sample is not None
    assert [(hit.policy, hit.key, hit.hits) for hit in sample.hits] == [
        ("root/firewall policy", "1", 4),
        ("guest/firewall policy", "1", None),
    ]
    assert sample.hits[0].last_hit_at == datetime.fromtimestamp(1764000000, UTC)
    alone = VENDOR.counters(json.dumps(rest("root", {"policyid": 1, "hit_count": 0})), READ_AT)
    assert alone is not None
    assert [(hit.policy, hit.hits) for hit in alone.hits] == [("firewall policy", 0)]


@pytest.mark.parametrize("text", ["", "{", "[]", "[[]]", '{"results": 7}', "[" * 5000, '{"results": [{"policyid": true}]}'])
def test_json_that_is_no_answer_holds_no_counters(text: str) -> None:
    assert VENDOR.counters(text, READ_AT) is None


LOG = (
    'date=2026-11-30 time=05:00:00 devname="fw1" devid="FG1" eventtime={at} tz="+0800" logid="{logid}" type="traffic" '
    'vd="{vdom}" srcip=10.0.0.1 action="{action}" policyid={policy} policytype="policy" sessionid=7 service="HTTPS" sentbyte=1\n'
)


def log(
    policy: int = 5, at: str = "1764000000000000000", logid: str = "0000000013", vdom: str = "root", action: str = "close"
) -> str:
    return LOG.format(policy=policy, at=at, logid=logid, vdom=vdom, action=action)


def test_traffic_logs_count_ended_sessions_per_policy() -> None:
    assert VENDOR.rule_uses is not None
    text = (
        log()
        + log(at="1764000100")
        + log(action="start")
        + log(logid="0000000020")
        + log(0)
        + log(vdom="guest")
        + "noise policyid=\n"
    )
    uses = VENDOR.rule_uses(text)
    assert [(use.policy, use.key, use.sessions, use.hostname) for use in uses] == [
        ("firewall policy", "5", 2, "fw1"),
        ("guest/firewall policy", "5", 1, "fw1"),
    ]
    assert uses[0].first_at == datetime.fromtimestamp(1764000000, UTC)
    assert uses[0].last_at == datetime.fromtimestamp(1764000100, UTC)


def test_a_log_without_eventtime_has_its_own_zone() -> None:
    assert VENDOR.rule_uses is not None
    (use,) = VENDOR.rule_uses(log().replace("eventtime=1764000000000000000 ", ""))
    assert use.first_at == datetime(2026, 11, 29, 21, tzinfo=UTC)
