"""The rank of a mark comes from the maps of every hop, or is not claimed."""

import json

import pytest

from flowguard.actions import bundles
from flowguard.actions.bundles import hand_out
from flowguard.models import ObservationPoint, Sensor
from flowguard.queries.bundles import service_rank
from policyhub.domain.qos import DscpMap
from policyhub.models import ConfigSnapshot, Device, DeviceGroup, Realm
from tests.support.ingesting import NOW


def test_no_map_no_rank():
    assert service_rank([]) == {}


def test_marks_that_all_hops_serve_alike_have_a_rank():
    one = DscpMap("a", ((0, 0), (8, 1), (46, 5)))
    two = DscpMap("b", ((0, 0), (8, 0), (46, 5), (40, 4)))
    assert service_rank([one]) == {0: 0, 8: 1, 46: 5}
    assert service_rank([one, two]) == {0: 0, 46: 5}


CISCO = "hostname sw\nmls qos\nmls qos map dscp-cos 8 to 0\n"


@pytest.fixture
def core(db):
    bundles._maps.cache_clear()  # a rolled-back test gives the same keys again
    realm = Realm.objects.create(name="")
    group = DeviceGroup.objects.create(name="g")
    device = Device.objects.create(name="core", realm=realm, group=group, platform="cisco_ios")
    sensor = Sensor.objects.create(name="core-1")
    ObservationPoint.objects.create(sensor=sensor, name="out0", realm=realm, stands_behind=device)
    return device


def collect(device, text, seal="sealed"):
    from policyhub.actions import secrets

    envelope = secrets.seal(text) if seal == "sealed" else seal
    ConfigSnapshot.objects.create(
        device=device, taken_at=NOW, taken_by="test", sha256=str(len(text)), text_envelope=envelope, lines=text.count("\n")
    )


def ranks():
    return json.loads(hand_out(sensor=Sensor.objects.get(), now=NOW).body)["service_rank"]


def test_the_bundle_carries_the_ranks_of_the_device_behind_a_point(core):
    assert ranks() == {}
    collect(core, CISCO)
    assert ranks()["46"] > ranks()["8"] == ranks()["0"]


def test_a_hop_whose_map_is_not_known_leaves_no_rank(core):
    collect(core, CISCO)
    other = Device.objects.create(name="other", realm=core.realm, group=core.group, platform="cisco_ios")
    ObservationPoint.objects.create(sensor=Sensor.objects.get(), name="in0", realm=core.realm, device=other)
    assert ranks() == {}
    collect(other, CISCO)
    assert ranks()["46"] > 0


def test_a_snapshot_that_cannot_be_opened_is_no_rank_and_no_failure(core):
    collect(core, CISCO, seal="garbage")
    assert ranks() == {}


def test_asking_again_parses_nothing_again(core, django_assert_max_num_queries):
    collect(core, CISCO)
    hand_out(sensor=Sensor.objects.get(), now=NOW)
    sensor = Sensor.objects.select_related("group").get()
    with django_assert_max_num_queries(4):
        hand_out(sensor=sensor, now=NOW)
