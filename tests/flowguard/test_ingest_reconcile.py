"""Across sensors: one event is judged once, and the network is blamed for what the network did."""

from datetime import timedelta

import pytest

from flowguard.domain.across import Marks, rewritten_on_the_way
from flowguard.models import IdentityEntry, ObservationPoint, Verdict
from policyhub.models import Device, DeviceGroup, Realm
from tests.support.batches import SECOND, T0, batch, observation, source, verdict
from tests.support.ingesting import NOW, later, queued, take  # noqa: F401

SRC = "10.0.0.7"


def standings():
    return dict(Verdict.objects.values_list("sensor__name", "standing"))


@pytest.fixture
def path(db):
    """far/in0 -> [core] -> near/out0, and 10.0.0.0/24 may use 0 and 8."""
    realm = Realm.objects.create(name="")
    IdentityEntry.objects.create(realm=realm, prefix="10.0.0.0/24", name="algo", allowed_dscp=[0, 8])
    core = Device.objects.create(name="core", realm=realm, group=DeviceGroup.objects.create(name="g"), platform="cisco_ios")
    take(batch(1, sensor="far", observations=[observation("in0", second=-9)]))
    take(batch(1, sensor="near", observations=[observation("out0", second=-9)]))
    ObservationPoint.objects.filter(name="in0").update(device=core)
    ObservationPoint.objects.filter(name="out0").update(device=core, stands_behind=core)


def offence(**changes):
    return verdict(7, point="out0", packets=100, **changes)


def seen(mark, packets=100, second=0, **changes):
    return observation("in0", second, [source(SRC, mark, packets), source("10.0.0.9", 46, 500)], **changes)


def health(max_error_ms):
    """Of a sensor whose clock is off by so much at most; None: not synchronised, "kept": it is, and nobody says how well,
    "silent": it says nothing."""
    told = batch()["health"]
    if max_error_ms == "silent":
        return told
    error_ns = max_error_ms * 1_000_000 if isinstance(max_error_ms, int) else None
    clock = {"synchronised": max_error_ms is not None, "estimated_error_ns": error_ns and error_ns // 2, "max_error_ns": error_ns}
    return {**told, "clock": clock}


@pytest.mark.django_db
@pytest.mark.usefixtures("queued")
class TestDuplicates:
    @pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
    def test_of_two_sensors_the_earliest_stands(self, order):
        first = {"a": T0, "b": T0 + 5_000}
        for name in order:
            take(batch(sensor=name, verdicts=[verdict(7, id=name * 32, first_ns=first[name], last_ns=T0 + SECOND)]))
        assert standings() == {"a": "stands", "b": "duplicate"}

    def test_only_the_standing_one_is_considered(self, queued):  # noqa: F811
        take(batch(sensor="a", verdicts=[verdict(7)]))
        take(batch(sensor="b", verdicts=[verdict(7, first_ns=T0 + 9)]))
        assert [name for name, _ in queued].count("flowguard.decide") == 1

    @pytest.mark.parametrize(
        "difference", [{"dscp": 40}, {"dst": "10.9.9.9"}, {"server_port": 9}, {"realm": "x"}, {"name": "dscp-rewritten"}]
    )
    def test_another_key_is_another_event(self, difference):
        take(batch(sensor="a", verdicts=[verdict(7)]))
        take(batch(sensor="b", verdicts=[verdict(7, **difference)]))
        assert standings() == {"a": "stands", "b": "stands"}

    def test_the_same_key_an_hour_later_is_another_event(self):
        hour = 3600 * SECOND
        take(batch(sensor="a", verdicts=[verdict(7)]))
        take(batch(sensor="b", verdicts=[verdict(7, first_ns=T0 + hour, last_ns=T0 + hour)]))
        assert standings() == {"a": "stands", "b": "stands"}

    def test_one_sensor_s_verdicts_are_never_each_other_s_duplicates(self):
        take(batch(sensor="b"))
        take(batch(sensor="a", verdicts=[verdict(7), verdict(7, id="f" * 32, first_ns=T0 + 1)]))
        assert set(Verdict.objects.values_list("standing", flat=True)) == {"stands"}


@pytest.mark.usefixtures("queued", "path")
class TestTheNetworkDidIt:
    def test_host_is_not_blamed_for_a_mark_the_switch_rewrote(self):
        take(batch(2, sensor="far", observations=[seen(8), seen(8, 0, 1)]))
        take(batch(2, sensor="near", verdicts=[offence()]))
        assert standings() == {"near": "network"}

    def test_also_when_the_earlier_point_s_seconds_come_later(self, queued):  # noqa: F811
        take(batch(2, sensor="near", verdicts=[offence()]))
        row = Verdict.objects.get()
        assert (row.standing, row.next_step_at) == ("stands", NOW + timedelta(seconds=5))
        assert "flowguard.decide" not in [name for name, _ in queued]
        take(batch(2, sensor="far", observations=[seen(8), seen(8, 0, 1)]), later(seconds=2))
        assert standings() == {"near": "network"}
        assert Verdict.objects.get().next_step_at == later(seconds=2)

    @pytest.mark.parametrize(
        ("rows", "why"),
        [
            ([seen(46), seen(46, 0, 1)], "the host sent the mark itself"),
            ([seen(8, 99), seen(8, 0, 1)], "not all the packets were seen"),
            ([seen(8, complete=False), seen(8, 0, 1)], "packets were dropped there"),
            ([seen(8)], "a second is missing"),
            ([seen(8), seen(46, 1, 1)], "one packet came with the mark"),
            ([seen(26), seen(26, 0, 1)], "the mark before was not allowed either"),
            ([observation("in0", 0, [source(SRC, 8, 100), source(None, 46, 4)]), seen(8, 0, 1)], "sources were left out"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_the_host_keeps_the_blame_when(self, rows, why):
        take(batch(2, sensor="far", observations=rows))
        take(batch(2, sensor="near", verdicts=[offence()]))
        assert standings() == {"near": "stands"}, why

    @pytest.mark.parametrize(
        ("far", "near", "standing", "error_ms"),
        [
            (400, 600, "network", 1_000.0),
            (400, 601, "stands", 1_001.0),
            (0, None, "stands", None),  # not synchronised: it may be off by anything
            (5, "silent", "network", 5.0),
            (5, "kept", "network", None),
        ],
    )
    def test_the_network_is_blamed_only_while_both_clocks_are_right_to_the_margin(self, far, near, standing, error_ms):
        take(batch(2, sensor="far", observations=[seen(8), seen(8, 0, 1)], health=health(far)))
        take(batch(2, sensor="near", verdicts=[offence()], health=health(near)))
        assert standings() == {"near": standing}
        assert [fact for fact in Verdict.objects.get().evidence if fact["kind"] == "clocks"] == [
            {"kind": "clocks", "error_ms": error_ms, "granted_ms": 1_000.0, "withheld": standing == "stands"}
        ]
        take(batch(3, sensor="far", observations=[seen(8, 0, 2)], health=health(far)))
        assert len([fact for fact in Verdict.objects.get().evidence if fact["kind"] == "clocks"]) == 1

    def test_a_point_downstream_says_nothing_about_the_host(self):
        take(batch(2, sensor="near", observations=[{**seen(8), "point": "out0"}, {**seen(8, 0, 1), "point": "out0"}]))
        take(batch(2, sensor="far", verdicts=[verdict(7, point="in0")]))
        assert standings() == {"far": "stands"}

    def test_an_unknown_host_outside_priority_before_is_not_to_blame(self):
        take(batch(2, sensor="far", observations=[seen(26), seen(26, 0, 1)]))
        take(batch(2, sensor="near", verdicts=[offence(name="unknown-identity-in-priority")]))
        assert standings() == {"near": "network"}

    def test_planning_does_not_wait_for_a_silent_sensor_for_ever(self, queued):  # noqa: F811
        take(batch(2, sensor="near", verdicts=[offence()]))
        Verdict.objects.update(next_step_at=None)
        take(batch(3, sensor="near", verdicts=[offence(revision=2)]), later(seconds=6))
        assert [name for name, _ in queued].count("flowguard.decide") == 1


def test_nothing_seen_is_no_excuse():
    assert not rewritten_on_the_way(Marks(True, {}), dscp=46, packets=0, allowed=frozenset({0}))
    assert rewritten_on_the_way(Marks(True, {0: 1}), dscp=46, packets=1, allowed=frozenset({0}))
