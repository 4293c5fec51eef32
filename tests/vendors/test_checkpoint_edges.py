"""Check Point: what golden cases cannot say: damaged answers, hostile values, pages out of order."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.nat import NatKind
from policyhub.vendors.checkpoint_gaia import VENDOR

ANY = {"uid": "any", "name": "Any", "type": "CpmiAnyObject"}
ACCEPT = {"uid": "acc", "name": "Accept", "type": "RulebaseAction"}


def rule(number: int, **more: object) -> dict[str, object]:
    return {
        "uid": f"r{number}", "name": f"n{number}", "type": "access-rule", "rule-number": number, "source": ["any"],
        "destination": ["any"], "service": ["any"], "action": "acc", "enabled": True, **more,
    }  # fmt: skip


def page(*rules: dict[str, object], objects: tuple[dict[str, object], ...] = ()) -> str:
    return json.dumps(
        {"uid": "L", "name": "Net", "objects-dictionary": [ANY, ACCEPT, *objects], "rulebase": list(rules)}, indent=1
    )


def test_rules_before_the_damage_are_read_and_the_rest_is_told() -> None:
    text = page(rule(1), rule(2), rule(3))
    at = text.index('"r3"')
    config = VENDOR.parse(text[:at] + '"r3\n')
    assert [found.name for found in config.policies[0].rules][:2] == ["n1", "n2"]
    assert config.unparsed and all(unparsed.reason.startswith("not valid JSON") for unparsed in config.unparsed)


def test_a_second_answer_behind_a_damaged_one_is_read() -> None:
    text = page(rule(1))[:-20] + "\n" + page(rule(7)) + "\n"
    names = [found.name for found in VENDOR.parse(text).policies[0].rules]
    assert names[-1] == "n7"


def test_every_line_of_an_unknown_answer_is_unparsed() -> None:
    config = VENDOR.parse('{\n "message": "Wrong session id",\n "code": "generic_err_wrong_session_id"\n}\n')
    assert [unparsed.line for unparsed in config.unparsed] == [1, 2, 3, 4]


def test_the_same_page_twice_counts_once() -> None:
    text = page(rule(1), rule(2))
    assert [found.name for found in VENDOR.parse(f"{text}\n{text}\n").policies[0].rules] == ["n1", "n2"]


def test_an_object_with_more_to_tell_replaces_a_mere_name() -> None:
    named = {"uid": "h", "name": "web", "type": "host"}
    full = {"objects": [{**named, "ipv4-address": "10.0.0.9", "comments": ""}], "total": 1}
    text = page(rule(1, source=["h"]), objects=(named,)) + "\n" + json.dumps(full) + "\n"
    assert VENDOR.parse(text).policies[0].rules[0].match.source == AddressSet.of("10.0.0.9")


def test_groups_that_hold_each_other_come_to_an_end() -> None:
    objects = (
        {"uid": "a", "name": "a", "type": "group", "members": ["b", "h"]},
        {"uid": "b", "name": "b", "type": "group-with-exclusion", "include": "a", "except": "a"},
        {"uid": "h", "name": "h", "type": "host", "ipv4-address": "10.0.0.1"},
    )
    found = VENDOR.parse(page(rule(1, source=["a"]), objects=objects))
    assert found.rule_count == 1


@pytest.mark.parametrize("port", ["", "x", "99999", "9-1", ">65535", "<0", "1-2-3", "²"])
def test_a_port_that_is_none_leaves_the_service_open(port: str) -> None:
    objects = ({"uid": "s", "name": "odd", "type": "service-tcp", "port": port},)
    match = VENDOR.parse(page(rule(1, service=["s"]), objects=objects)).policies[0].rules[0].match
    assert match.unresolved == ("odd",)
    assert match.services[0].is_any


@pytest.mark.parametrize("value", [None, 7, True, [], {}, "x", [None], [[1]], [{"a": 1}]])
@pytest.mark.parametrize(
    "key", ["source", "service", "action", "track", "hits", "vpn", "time", "inline-layer", "install-on", "name"]
)
def test_values_of_any_type_are_survived(key: str, value: object) -> None:
    text = page(rule(1, **{key: value}))
    assert VENDOR.parse(text).rule_count == 1
    VENDOR.counters(text, None)


def test_a_rule_without_hits_has_no_number_and_a_time_is_in_milliseconds() -> None:
    hits = {"value": 3, "level": "low", "last-date": {"posix": 1627602345999}}
    sample = VENDOR.counters(page(rule(1, hits=hits), rule(2)), None)
    assert sample is not None
    assert [(hit.policy, hit.key, hit.hits, hit.last_hit_at) for hit in sample.hits] == [
        ("Net", "r1", 3, datetime(2021, 7, 29, 23, 45, 45, tzinfo=UTC))
    ]


def test_a_negative_count_is_no_number() -> None:
    sample = VENDOR.counters(page(rule(1, hits={"value": -1})), None)
    assert sample is not None and sample.hits[0].hits is None


def test_a_text_without_hits_holds_no_counters() -> None:
    assert VENDOR.counters(page(rule(1)), None) is None
    assert VENDOR.counters("set hostname hits\n", None) is None


def test_nested_beyond_reason_is_unparsed() -> None:
    config = VENDOR.parse("[" * 100_000)
    assert config.unparsed


def test_nat_without_a_dictionary_keeps_its_uids() -> None:
    body = {
        "uid": "N",
        "rulebase": [
            {"uid": "n1", "type": "nat-rule", "rule-number": 1, "method": "hide", "original-source": "u1",
             "translated-source": "u2",
             "original-destination": "Any", "translated-destination": "Original"}
        ],
    }  # fmt: skip
    (found,) = VENDOR.parse(json.dumps(body)).nat_rules
    assert (found.kind, found.translated_source, found.match.unresolved) == (NatKind.SOURCE, "uid u2", ("uid u1",))
    assert found.match.source.is_any


def test_a_quote_that_is_never_closed_is_a_letter() -> None:
    (port,) = VENDOR.parse('set interface eth0 comments "half a text\n').interfaces
    assert port.description == '"half a text'


def test_logs_name_one_rule_per_layer() -> None:
    text = (
        '<134>1 2026-11-30T06:00:00Z fw1 CheckPoint 1 - [action:"Accept"; layer_name:"Network"; layer_name:"Web"; rule_uid:"u1"; '
        'rule_uid:"u2"; time:"1796018400"]\n'
        '<134>1 2026-11-30T06:00:05Z fw1 CheckPoint 1 - [action:"Update"; layer_name:"Network"; rule_uid:"u1"]\n'
        "CEF:0|Check Point|VPN-1 & FireWall-1|Check Point|Log|https|Unknown|act=Drop rt=1796018410000 layer_name=Network "
        "rule_uid=u3\n"
        "no rule here\n"
    )
    assert VENDOR.rule_uses is not None
    uses = {(use.policy, use.key): use for use in VENDOR.rule_uses(text)}
    assert {key: use.sessions for key, use in uses.items()} == {("Network", "u1"): 1, ("Web", "u2"): 1, ("Network", "u3"): 1}
    assert uses["Network", "u1"].last_at == datetime(2026, 11, 30, 6, 0, 5, tzinfo=UTC)
    assert uses["Network", "u3"].first_at == datetime.fromtimestamp(1796018410, UTC)


def test_a_log_that_names_a_rule_without_its_layer_says_so() -> None:
    assert VENDOR.rule_uses is not None
    (use,) = VENDOR.rule_uses('[action:"Accept"; rule_uid:"{u9}"; time:"x"]')
    assert (use.policy, use.key, use.sessions, use.first_at) == ("", "u9", 1, None)
