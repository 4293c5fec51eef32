"""Commands around sensors: tokens, places of points, health, batches that could not be read."""

import argparse
from datetime import timedelta

import pytest
from django.utils import timezone

from flowguard.management import sensors_cli
from flowguard.models import ObservationPoint, Sensor, VerdictBatch
from flowguard.queries.sensors import sensor_rows
from policyhub.actions import tokens
from policyhub.domain.errors import BadInput
from policyhub.management import token_cli
from policyhub.models import ApiToken, AuditEntry, Device, DeviceGroup, Realm
from tests.support.batches import batch
from tests.support.ingesting import NOW, later, queued, store, take  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]


def run(module, *words):
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return module.run(parser.parse_args([str(word) for word in words]))


class TestTokenCommand:
    def test_a_sensor_s_token_is_printed_once_and_works(self, capsys):
        assert run(token_cli, "create", "--sensor", "core-1") == 0
        text = capsys.readouterr().out.strip()
        assert tokens.verify(text, now=NOW).sensor == "core-1"
        run(token_cli, "list")
        listed = capsys.readouterr().out
        assert "sensor=core-1" in listed
        assert text.partition(".")[2] not in listed

    def test_revoking_ends_it(self, capsys):
        run(token_cli, "create", "--scope", "read")
        text = capsys.readouterr().out.strip()
        assert run(token_cli, "revoke", ApiToken.objects.get().key) == 0
        assert tokens.verify(text, now=NOW) is None
        assert [row.action for row in AuditEntry.objects.order_by("sequence")] == ["token.created", "token.revoked"]

    def test_an_unknown_key_is_one_line(self):
        with pytest.raises(BadInput, match="no token has the key"):
            run(token_cli, "revoke", "0000")


class TestSensorsCommand:
    @pytest.fixture
    def core(self):
        realm = Realm.objects.create(name="site-a")
        group = DeviceGroup.objects.create(name="lab", profile="lab")
        return Device.objects.create(name="core", realm=realm, group=group, platform="cisco_ios")

    def test_a_sensor_and_its_points_are_placed(self, core):
        run(sensors_cli, "assign", "core-1", "--group", "lab")
        run(sensors_cli, "point", "core-1/out0", "--realm", "site-a", "--stands-behind", "core", "--interface", "eth2")
        point = ObservationPoint.objects.get()
        assert (point.sensor.group.name, point.realm.name, point.stands_behind, point.device) == ("lab", "site-a", core, None)
        assert AuditEntry.objects.filter(action__in=["sensor.assigned", "point.placed"]).count() == 2

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (("assign", "core-1", "--group", "nope"), "Groups: lab"),
            (("point", "core-1/out0", "--device", "nope"), "There are: core"),
            (("point", "core-1/out0", "--realm", "nope"), "There are: site-a"),
            (("point", "core-1"), "write SENSOR/POINT"),
            (("retry", "7"), "not among the unreadable ones"),
        ],
    )
    def test_a_mistake_is_one_line_and_leaves_nothing(self, core, words, told):
        with pytest.raises(BadInput, match=told) as caught:
            run(sensors_cli, *words)
        assert "\n" not in str(caught.value)
        assert not Sensor.objects.exists()
        assert not ObservationPoint.objects.exists()

    def test_the_list_says_how_each_sensor_is(self, capsys):
        take(batch(1, health={"received": 9, "dropped": {"kernel": 3, "ring": 1, "spool": 0}, "decode_errors": 0}))
        store(batch(4))
        Sensor.objects.create(name="quiet")
        VerdictBatch.objects.filter(sequence=4).update(state="poisoned")
        assert run(sensors_cli, "list") == 0
        assert "silent, 4 dropped" in capsys.readouterr().out
        Sensor.objects.exclude(name="quiet").update(last_seen_at=timezone.now())
        assert run(sensors_cli, "list") == 0
        first, second = capsys.readouterr().out.splitlines()
        assert "judging, 4 dropped, 0 batches waiting and unknown on its disk, 1 batches unreadable" in first
        assert "quiet  never seen, not judging, drops unknown" in second

    def test_the_list_says_how_far_a_sensor_is_behind(self, capsys):
        take(batch(1))
        Sensor.objects.update(last_seen_at=timezone.now(), spooled=2724, spooled_s=660.0)
        run(sensors_cli, "list")
        assert "0 batches waiting and 2724 on its disk, 66" in (told := capsys.readouterr().out) and " s behind" in told
        Sensor.objects.update(last_seen_at=timezone.now(), spooled=0, spooled_s=0.0)
        VerdictBatch.objects.update(state="stored", received_at=timezone.now() - timedelta(seconds=90))
        run(sensors_cli, "list")
        assert "1 batches waiting and 0 on its disk, 90 s behind" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("clock", "told"),
        [
            (
                {"synchronised": True, "estimated_error_ns": 37_000, "max_error_ns": 2_140_000},
                "off by about 0.037 ms, at most 2.140 ms",
            ),
            ({"synchronised": False, "estimated_error_ns": None, "max_error_ns": None}, "clock not synchronised"),
        ],
    )
    def test_the_list_says_what_a_sensor_s_times_are_worth(self, capsys, clock, told):
        points = [{"stamps": {"hardware": 5, "system": 1, "stray": stray, "clock": 0}} for stray in (2, 1)]
        take(batch(1, health={"received": 9, "dropped": {}, "decode_errors": 0, "clock": clock, "points": points}))
        assert run(sensors_cli, "list") == 0
        assert f"{told}, 3 frames stamped by a card that is not set to UTC\n" in capsys.readouterr().out

    def test_a_batch_is_given_another_try(self):
        row = store(batch(1))
        VerdictBatch.objects.update(state="poisoned")
        assert run(sensors_cli, "retry", row.pk) == 0
        row.refresh_from_db()
        assert row.state == "stored"


def test_health_of_all_sensors_is_one_query(django_assert_num_queries):
    for number in range(20):
        take(batch(1, sensor=f"s{number}"))
    with django_assert_num_queries(1):
        rows = sensor_rows(now=later(seconds=40))
    assert [row.is_silent for row in rows] == [True] * 20
