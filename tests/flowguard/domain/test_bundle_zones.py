"""The clocks of the zones that identities name, as the engine gets them."""

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

import native_capture
from flowguard.domain.bundle import compile_bundle, zone_offsets
from policyhub.domain.identity import Identity


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe"])
def test_all_through_the_years_told_the_offset_is_the_zones_own(zone):
    offsets, clock = zone_offsets(zone), ZoneInfo(zone)
    assert offsets == sorted(offsets)
    moment = datetime(2000, 1, 1, 0, 30, tzinfo=UTC)
    while moment.year < 2039:
        ahead = [offset for since, offset in offsets if since <= moment.timestamp()][-1]
        offset = moment.astimezone(clock).utcoffset()
        assert offset is not None and ahead == offset.total_seconds()
        moment += timedelta(hours=103)


def test_a_bundle_tells_the_zones_that_it_needs_and_the_engine_takes_it():
    hours = "22:00-06:00@Mon-Fri Asia/Shanghai"
    bundle = compile_bundle([Identity("10.0.0.0/8", "job", active_window=hours, peak_mbps=100), Identity("11.0.0.0/8", "free")])
    assert json.loads(bundle)["zones"] == {"Asia/Shanghai": [[946684800, 28800]]}
    assert native_capture.audit_bundle(bundle) == json.loads(bundle)["version"]
