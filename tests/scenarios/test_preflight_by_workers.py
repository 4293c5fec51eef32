"""A preflight of the console, done by real workers: one task per device, and what one finds hides no other."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from policyhub.actions import inventory, preflights, wishes
from policyhub.models import Device
from tests.support.devices import ENABLE, PASSWORD, USER
from tests.support.fleet import FLEET_PLATFORMS, Fleet, made
from tests.support.services import Processes, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_workers_look_at_every_device_and_keep_what_they_read(service: Processes) -> None:
    now = datetime.now(UTC)
    secret = {"password": PASSWORD, "enable": ENABLE}
    inventory.set_credential(name="reader", username=USER, purpose="collect", **secret, actor="ops", now=now)
    members = [made(platform.replace("_", "-"), platform) for platform in FLEET_PLATFORMS]
    members[2].logins.passwords.clear()
    with Fleet(members):
        text = "name,platform,host,port,credential,host_key\n" + "".join(
            f"{one.name},detect,127.0.0.1,{one.port},reader,{one.host_key}\n" for one in members
        )
        wishes.apply(wishes.preview(text, "all.csv"), file="all.csv", actor="ops", now=now)
        service.worker("sweep")
        run = preflights.start(list(Device.objects.all()), collecting=True, queue=True, actor="ops", now=now)
        wait_until(lambda: type(run).objects.filter(pk=run.pk, state="done").exists(), "every device is done")
    run.refresh_from_db()
    states = {row.device.name: (row.state, row.collected) for row in run.results.select_related("device")}
    assert states.pop(members[2].name) == ("failed", False)
    assert {collected for _, collected in states.values()} == {True}
    found = {row.name: row.platform for row in Device.objects.all()}
    assert found == {one.name: "detect" if one is members[2] else one.platform for one in members}
