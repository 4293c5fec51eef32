"""`car` of VRP and Comware: what a policer does not hold is a note (command references of S, AR, NE, Comware)."""

from __future__ import annotations

import pytest

from policyhub.domain.qos import Policer
from policyhub.vendorkit.registry import REGISTRY

BURST = "cbs 125000 "


def classes(platform: str, text: str) -> list[tuple[Policer | None, bool]]:
    """Of each class its policer, and whether the line is a note as well."""
    config = REGISTRY.get(platform).parse(text)
    assert not config.unparsed
    return [(made.policer, bool(made.notes)) for policy in config.qos_policies for made in policy.classes]


@pytest.mark.parametrize(
    ("line", "policer", "is_noted"),
    [
        (BURST + "pbs 125000 green pass yellow pass red discard", Policer(10**6, 125000), False),
        (BURST + "pbs 0 green pass yellow discard red discard", Policer(10**6, 125000), False),
        (BURST + "pbs 125001 green pass yellow pass red discard", Policer(10**6, 125000), True),
        (BURST + "green pass remark-dscp 46", Policer(10**6, 125000), True),
        (BURST + "yellow pass remark-8021p 1", Policer(10**6, 125000), True),
        (BURST + "red pass remark-mpls-exp 1", Policer(10**6, 125000, None, "pass remark-mpls-exp 1"), False),
        ("pir 2000 yellow pass remark dscp 12 summary color-aware", Policer(10**6, None, None, "pass remark-dscp 12"), True),
        ("pir 2000 adjust 18", Policer(10**6, None, None, "transmit"), True),
        (BURST + "pbs 0 limit-type pps", Policer(None), True),
    ],
)
def test_cars_of_vrp(line: str, policer: Policer, is_noted: bool) -> None:
    head = "sysname s\ntraffic classifier c\n if-match any\ntraffic behavior b\n statistic enable\n"
    tail = "traffic policy p\n classifier c behavior b\ninterface GigabitEthernet0/0/1\n traffic-policy p inbound\n"
    assert classes("huawei_vrp", f"{head} car cir 1000 {line}\n{tail}") == [(policer, is_noted)]
    limit = f"sysname s\ninterface GigabitEthernet0/0/1\n traffic-limit inbound acl 3001 cir 1000 {line}\n"
    assert classes("huawei_vrp", limit) == [(policer, is_noted)]


def test_a_shared_car_is_noted_by_its_own_line() -> None:
    config = REGISTRY.get("huawei_vrp").parse(
        "sysname s\nqos car q cir 1000 pir 2000 cbs 1000 pbs 2000\ntraffic classifier c\n if-match any\n"
        "traffic behavior b\n car q share\ntraffic policy p\n classifier c behavior b\n"
    )
    (made,) = config.qos_policies[0].classes
    assert made.notes == ("qos car q cir 1000 pir 2000 cbs 1000 pbs 2000",)


@pytest.mark.parametrize(
    ("line", "policer", "is_noted"),
    [
        ("cir 1000 cbs 62976 ebs 0 green pass red discard yellow pass", Policer(10**6, 62976), False),
        ("cir 1000 cbs 62976 ebs 512 green pass red discard yellow pass", Policer(10**6, 62976), True),
        ("cir percent 20 cbs 100 ebs 0", Policer(None, None, 20.0), False),  # sizes are milliseconds there
        ("cir percent 20 cbs 100 pir percent 40 ebs 0", Policer(None, None, 20.0, "transmit"), True),
        ("cir 1000 red remark-dscp-continue 8", Policer(10**6, None, None, "continue remark-dscp 8"), False),
        ("cir 1000 green continue red discard", Policer(10**6), True),
    ],
)
def test_cars_of_comware(line: str, policer: Policer, is_noted: bool) -> None:
    text = f" version 7.1.070\n sysname h\ninterface GigabitEthernet1/0/1\n qos car inbound any {line}\n"
    assert classes("h3c_comware", text)[0] == (policer, is_noted)
