"""Damaged lines of VRP that once ended in an exception."""

from __future__ import annotations

import pytest

from policyhub.vendors.huawei_vrp import VENDOR


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("acl name A name advance name B\n rule 5 permit ip\n", []),
        ("segment policy P\n classifier\nsegment-policy P\n", ["classifier"]),
        ("segment classifier C\n rule 0\n", ["rule 0"]),
    ],
)
def test_a_damaged_line_is_no_exception(text: str, left: list[str]) -> None:
    assert [unparsed.text for unparsed in VENDOR.parse(text).unparsed] == left


def test_a_name_behind_a_number_keeps_both() -> None:
    (policy,) = VENDOR.parse("acl number 3001 name EDGE\n rule 5 permit ip\n").policies
    assert policy.name == "EDGE" and policy.purpose == "filter"
