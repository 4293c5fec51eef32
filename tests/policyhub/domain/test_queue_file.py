"""The queues file of a port, derived from its configuration: rates, buffers, marks, and what was assumed."""

from __future__ import annotations

from typing import Any

import pytest

from policyhub.domain.device_config import DeviceConfig, Interface
from policyhub.domain.errors import BadInput
from policyhub.domain.qos import ClassMatch, DscpMap, Marker, Policer, QosAttachment, QosClass, QosPolicy, Queue, Shaper
from policyhub.domain.queue_file import QueueFile, queue_file

LINK = 100_000_000
ANY = ClassMatch(any=True)


def of(name: str, marks: set[int] | None = None, match: ClassMatch | None = None, **more: Any) -> QosClass:
    """A class with a queue; of its keywords those of Queue, Shaper and Policer."""
    queue = Queue(name, **{key: value for key, value in more.items() if key not in ("shaper", "policer", "child_policy")})
    rest = {key: more[key] for key in ("shaper", "policer", "child_policy") if key in more}
    return QosClass(name, match or ClassMatch(dscp=frozenset(marks or ())), queue=queue, **rest)


def config(*classes: QosClass, port: str = "Te1", bound: str = "Te1", way: str = "out", **more: Any) -> DeviceConfig:
    policy = QosPolicy("OUT", classes, (QosAttachment(bound, way),))
    return DeviceConfig(
        "x", "box", 9, (), (policy, *more.pop("others", ())), interfaces=(Interface(port, speed_bps=LINK),), **more
    )


def made(found: DeviceConfig, port: str = "te1", **more: Any) -> QueueFile:
    return queue_file(found, port, arrivals="Te9", device="core-1", **more)


def classes(found: DeviceConfig, **more: Any) -> dict[str, dict[str, Any]]:
    return made(found, **more).content["classes"]


def test_a_file_has_the_points_the_port_and_every_class() -> None:
    found = made(config(of("EF", {46}, is_strict_priority=True, ceiling_bps=10_000_000, limit_packets=25),
                        of("AF", {26, 24}, guaranteed_percent=30.0, limit_bytes=150_000),
                        of("BE", match=ANY, remaining_percent=50.0, limit_packets=200)))  # fmt: skip
    assert found.content == {
        "device": "core-1", "observation_points": {"ingress": "Te9", "egress": "Te1"}, "link_mbps": 100.0,
        "classes": {
            "EF": {"dscp": [46], "rate_mbps": 10.0, "ceil_mbps": 10.0, "queue_pkts": 25, "strict": True},
            "AF": {"dscp": [24, 26], "rate_mbps": 30.0, "ceil_mbps": 100.0, "queue_bytes": 150_000},
            "BE": {"dscp": "rest", "rate_mbps": 30.0, "ceil_mbps": 100.0, "queue_pkts": 200},
        },
        "ports": {"Te1": {"point": "egress", "arrivals_from": "ingress", "link_mbps": 100.0}},
    }  # fmt: skip
    assert found.notes == ()


def rates(*rows: QosClass) -> dict[str, float]:
    return {name: round(row["rate_mbps"], 3) for name, row in classes(config(*rows)).items()}


def test_weights_share_what_guarantees_leave_and_a_class_without_one_weighs_as_the_mean() -> None:
    assert rates(of("G", {1}, guaranteed_bps=40_000_000), of("A", {2}, remaining_weight=10), of("B", {3}, remaining_weight=20),
                 of("C", match=ANY)) == {"G": 40.0, "A": 13.333, "B": 26.667, "C": 20.0}  # fmt: skip
    assert rates(of("A", {2}), of("B", match=ANY)) == {"A": 50.0, "B": 50.0}
    assert rates(of("P", {2}, remaining_percent=60.0), of("W", {3}, remaining_weight=5), of("B", match=ANY)) == {
        "P": 60.0, "W": 20.0, "B": 20.0,
    }  # fmt: skip


def test_strict_priority_without_a_limit_has_the_link_and_takes_nothing_from_the_others() -> None:
    found = made(config(of("EF", {46}, is_strict_priority=True), of("BE", match=ANY)))
    assert {name: row["rate_mbps"] for name, row in found.content["classes"].items()} == {"EF": 100.0, "BE": 100.0}
    assert "EF: strict priority without a limit, so the whole link is its rate" in map(str, found.notes)


def test_guarantees_over_the_link_leave_a_hundredth_for_the_rest() -> None:
    assert rates(of("A", {1}, guaranteed_bps=90_000_000), of("B", {2}, guaranteed_bps=40_000_000), of("C", match=ANY)) == {
        "A": 90.0, "B": 40.0, "C": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "ceiling"),
    [
        ({"ceiling_percent": 20.0}, 20.0),
        ({"shaper": Shaper(30_000_000)}, 30.0),
        ({"shaper": Shaper(None, percent=40.0), "ceiling_bps": 50_000_000}, 40.0),
        ({"policer": Policer(15_000_000)}, 15.0),
        ({"policer": Policer(15_000_000, exceed_action="transmit")}, 100.0),
        ({"shaper": Shaper(900_000_000)}, 100.0),
        ({}, 100.0),
    ],
)
def test_the_tightest_limit_is_the_ceiling_and_bounds_the_rate(more: dict[str, Any], ceiling: float) -> None:
    row = classes(config(of("A", {10}, guaranteed_percent=90.0, **more), of("BE", match=ANY)))["A"]
    assert (row["ceil_mbps"], row["rate_mbps"]) == (ceiling, min(90.0, ceiling))


def test_what_is_assumed_is_said() -> None:
    found = made(config(of("A", {10}), of("B", {12}, guaranteed_percent=10.0, limit_packets=9, child_policy="IN")))
    assert list(map(str, found.notes)) == [
        "no class takes the other marks: they share what is left, as best effort",
        "B: what the policies inside them do is left out",
        "A, other marks: no rate in the configuration, an equal share of what the others leave is assumed",
        "A, other marks: no buffer in the configuration, 1000 packets are assumed",
    ]
    assert found.content["classes"]["other marks"] == {"dscp": "rest", "rate_mbps": 45.0, "ceil_mbps": 100.0}


def test_a_mark_is_of_the_first_class_that_takes_it_and_nothing_is_left_when_all_are_named() -> None:
    found = classes(
        config(of("A", set(range(40))), of("B", set(range(30, 64))), of("C", {5}), of("D", match=ANY), of("E", match=ANY))
    )
    assert {name: row["dscp"] if row["dscp"] == "rest" else (row["dscp"][0], row["dscp"][-1]) for name, row in found.items()} == {
        "A": (0, 39), "B": (40, 63), "D": "rest",
    }  # fmt: skip
    assert "other marks" not in classes(config(of("A", set(range(64)))))


def test_a_shaper_of_the_whole_port_is_its_speed() -> None:
    whole = QosClass("port", ANY, shaper=Shaper(20_000_000))
    found = made(config(of("A", {10}, guaranteed_percent=50.0), whole)).content
    assert (found["link_mbps"], found["classes"]["A"]["rate_mbps"], list(found["classes"])) == (20.0, 10.0, ["A", "other marks"])
    inner = QosPolicy("IN", (of("A", {10}, guaranteed_percent=50.0), of("BE", match=ANY)))
    parent = QosClass("class-default", ANY, shaper=Shaper(None, percent=10.0), child_policy="IN")
    found = made(config(parent, others=(inner,))).content
    assert (found["link_mbps"], found["classes"]["A"]["rate_mbps"], list(found["classes"])) == (10.0, 5.0, ["A", "BE"])


def test_traffic_classes_take_the_marks_of_the_ports_own_map() -> None:
    maps = (DscpMap("all", ((46, 5), (26, 3))), DscpMap("own", ((26, 5), (46, 3)), ("Te1",)))
    queue = of("q", match=ClassMatch(other=("traffic-class 5",)))
    assert classes(config(queue, dscp_maps=maps))["q"]["dscp"] == [26]
    assert classes(config(queue, dscp_maps=maps[:1]))["q"]["dscp"] == [46]


def entry(name: str, *rows: tuple[set[int], int], acls: tuple[str, ...] = (), way: str = "in") -> QosPolicy:
    """A policy that puts marks into internal classes."""
    made = [
        QosClass(f"{name}{level}", ClassMatch(dscp=frozenset(marks), acls=acls), marker=Marker(queue=level))
        for marks, level in rows
    ]
    return QosPolicy(name, tuple(made), (QosAttachment("Te7", way),))


def test_internal_classes_take_the_marks_that_policies_of_the_way_in_put_there() -> None:
    queues = [of(f"q{level}", match=ClassMatch(other=(f"qos-group {level}",))) for level in (3, 5)]
    found = classes(config(*queues, others=(entry("A", ({26, 24}, 3), ({26, 46}, 5)), entry("B", ({46}, 5)))))
    assert (found["q3"]["dscp"], found["q5"]["dscp"]) == ([24, 26], [46])  # 26 is of the first class that takes it
    for odd in (entry("C", ({46}, 3)), entry("C", ({46}, 3), ({46}, 5))):
        with pytest.raises(BadInput, match="not said by marks"):
            made(config(*queues, others=(entry("A", ({24}, 3), ({46}, 5)), odd)))
    for none in (entry("A", ({24}, 3), way="out"), entry("A", ({24}, 3), acls=("X",)), entry("A")):
        with pytest.raises(BadInput, match="not said by marks"):
            made(config(*queues, others=(none,)))


def test_group_0_has_what_no_policy_puts_elsewhere_and_queues_of_the_system_hold_for_every_port() -> None:
    rows = [of(f"q{level}", match=ClassMatch(other=(f"qos-group {level}",))) for level in (3, 0)]
    found = classes(config(*rows, bound="system", others=(entry("A", ({26}, 3), ({0}, 0)),)))
    assert {name: row["dscp"] for name, row in found.items()} == {"q3": [26], "q0": "rest"}
    mapped = DscpMap("m", ((26, 3), (0, 0)))
    rows = [of(f"q{level}", match=ClassMatch(other=(f"traffic-class {level}",))) for level in (3, 0)]
    assert classes(config(*rows, dscp_maps=(mapped,)))["q0"]["dscp"] == [0]


def test_classes_that_are_not_told_by_marks_need_them_given() -> None:
    found = config(
        of("q4", match=ClassMatch(other=("qos-group 4",))), of("acl", {1}, ClassMatch(dscp=frozenset({1}), acls=("A",)))
    )
    with pytest.raises(
        BadInput, match=r"not said by marks .*: q4 \(qos-group 4\), acl \(A\)\. Give --class 'q4=EF,\.\.\.' for each"
    ):
        made(found)
    rows = classes(found, marks={"q4": frozenset({46}), "acl": frozenset()})
    assert {name: row["dscp"] for name, row in rows.items()} == {"q4": [46], "other marks": "rest"}
    with pytest.raises(BadInput, match=r"no class q5 here\. The classes: q4, acl"):
        made(found, marks={name: frozenset({46}) for name in ("q4", "acl", "q5")})


def test_queues_of_the_device_hold_for_a_port_without_its_own() -> None:
    own = QosPolicy("OWN", (of("mine", {10}),), (QosAttachment("Te1", "out"),))
    assert list(classes(config(of("all", {10}), bound=""))) == ["all", "other marks"]
    assert list(classes(config(of("all", {10}), bound="", others=(own,)))) == ["mine", "other marks"]


@pytest.mark.parametrize(
    ("found", "port", "told"),
    [
        (config(of("A", {1}), bound="Te2"), "Te3", "port Te3 is not in the configuration. Ports with queues: Te2"),
        (config(of("A", {1}), bound="Te2"), "Te1", "no queues are bound to the way out of Te1. Ports with queues: Te2"),
        (config(of("A", {1}), way="in"), "Te1", "no queues are bound to the way out of Te1. Ports with queues: -"),
        (config(QosClass("mark", ANY)), "Te1", "no queues are bound"),
        (config(of("A", {1}), bound="Te2"), "te2", "the speed of Te2 is not in the configuration. Give --link, e.g. 10G"),
    ],
)
def test_what_is_missing_is_told_with_the_cure(found: DeviceConfig, port: str, told: str) -> None:
    with pytest.raises(BadInput) as refused:
        made(found, port)
    assert told in str(refused.value)


def test_a_speed_that_is_given_goes_before_that_of_the_configuration() -> None:
    assert made(config(of("A", {1})), link_bps=1e9).content["link_mbps"] == 1000.0
    assert made(config(of("A", {1}), bound="Te2"), "te2", link_bps=1e9).content["observation_points"]["egress"] == "Te2"
