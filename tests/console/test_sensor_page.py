"""The page of one sensor: who stands at its links and where the ends disagree, tunnels, bulk."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from flowguard.models import Sensor, SensorShape
from tests.console.conftest import person
from tests.support.sample_rows import Sample


def text(client: Client, sensor: Sensor) -> str:
    found = client.get(f"/sensors/{sensor.pk}/").content.decode()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found.partition("<main")[2]))


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "en",
            ["lossless priorities differ: 3 at leaf-1 Eth1/7, none at gpu-9 mlx5_0", "AF31: 3", "vxlan 5001", "3.4 s", "gloo"],
        ),
        ("zh-hans", ["无损优先级不一致：leaf-1 Eth1/7 为 3，gpu-9 mlx5_0 为 无", "同时发送、同时暂停的主机", "被截短"]),
    ],
)
def test_a_network_engineer_sees_which_end_of_a_link_is_set_otherwise(rows: Sample, language: str, said: list[str]) -> None:
    found = text(person(rows.admin, language), rows.verdict.sensor)
    assert [words for words in said if words not in found] == [], found


def test_a_sensor_that_told_nothing_says_when_it_will(rows: Sample, admin: Client) -> None:
    assert "It has told nothing of neighbours" in text(admin, Sensor.objects.get(name="branch-2"))
    shape = SensorShape.objects.get()
    shape.told = {**shape.told, "from_ns": None, "to_ns": None, "behaviour": None}
    for point in shape.told["points"]:
        point.update(lldp=[], carried=None)
    shape.save()
    assert (
        "No neighbour was heard" in (found := text(admin, rows.verdict.sensor))
        and found.count("The first minute is not over") == 2
    )


def test_many_neighbours_are_bounded_and_the_rest_is_counted(rows: Sample, admin: Client) -> None:
    shape = SensorShape.objects.get()
    crowd, pair = shape.told["points"][0], shape.told["points"][0]["lldp"]
    many = [{**pair[0], "chassis": f"02:00:00:00:01:{number:02x}"} for number in range(200)]
    points = [{**crowd, "point": f"p{number}", "lldp": pair, "lldp_total": 2} for number in range(24)]
    shape.told = {**shape.told, "points": [{**crowd, "lldp": many, "lldp_total": 300}, *points]}
    shape.save()
    found = text(admin, rows.verdict.sensor)
    assert found.count("IEEE 802.1Qaz") == 50, found
    assert "298 more are not shown" in found, found
    assert found.count("lossless priorities differ") == 10 and "28 more are not shown" in found, (
        "two for each of the points with two ends"
    )
