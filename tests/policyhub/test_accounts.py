"""The accounts that are printed suffice for what we type, and for nothing else."""

import re

import pytest

from policyhub.actions import collect
from policyhub.domain.change import ChangeKind, GuardSpec
from policyhub.domain.errors import UnknownPlatform
from policyhub.vendorkit import accounts
from policyhub.vendorkit.collecting import profiles, read_profile
from policyhub.vendorkit.registry import REGISTRY
from tests.support.devices import simulated

pytestmark = pytest.mark.django_db


def refused(lines, typed):
    return [line for line in typed if not any(re.search(pattern, line) for pattern in lines)]


@pytest.mark.parametrize("platform", ["cisco_ios", "huawei_vrp"])
def test_what_a_collection_and_a_push_type_is_allowed_and_nothing_else(platform):
    profile = read_profile(platform)
    with simulated(platform) as bench:
        collect.collect(device_id=bench.row.pk, actor="ops", now=bench.clock())
        read = accounts.read_lines(profile)
        assert len(bench.device.typed) >= len(profile.commands) and refused(read, bench.device.typed) == []
        bench.device.typed.clear()
        assert bench.do().state == "confirmed"
        assert bench.do(ChangeKind.MEMBER_ADD, "10.1.2.3/32").state == "confirmed"
        assert bench.do(ChangeKind.GUARD_REMOVE).state == "confirmed"
        push = accounts.push_lines(profile)
        assert refused(push, bench.device.typed) == []
        assert refused(read, bench.device.typed), "a read account must not push"
    for line in ("reload", "erase startup-config", "reset saved-configuration", "username x secret y", "no aaa new-model"):
        assert refused(push, [line]) == [line] == refused(read, [line])


@pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.platform)
def test_every_platform_has_a_read_account_that_names_each_command(profile):
    text = accounts.account_text(profile.platform)
    for command in profile.commands:
        assert command in text if profile.shell else f'"^{command.partition(" ")[2]}$"' in text.replace("\\", "")
    assert ("push account, a login" in text) == bool(profile.push)


@pytest.mark.parametrize("vendor", [row for row in REGISTRY.all() if row.push], ids=lambda row: row.name)
def test_a_push_account_reaches_our_objects_and_no_others(vendor):
    """Every line that names a thing of ours is refused as soon as it names another's."""
    push = accounts.push_lines(read_profile(vendor.name))
    port = "eth0" if vendor.push.shell else "GigabitEthernet1/0/1"
    lines: list[str] = []
    for families, rate in (((4,), 8_000_000), ((4, 6), None)):
        spec = GuardSpec("PHG-CORE1", (port,), frozenset({46, 48}), rate_bps=rate, families=families)
        done = vendor.render.install(spec, f"interface {port}\n" if not vendor.push.shell else "")
        lines += [*done.lines, *done.inverse]
    if vendor.push.watchdog:
        lines.append(vendor.push.watchdog.format(ttl_s=120, token="a1", inverse=done.inverse[0]))
        lines.append(vendor.push.disarm.format(token="a1"))
    typed = [line.strip() for line in lines]
    assert refused(push, typed) == []
    named = [line for line in typed if re.search("phg[-_]", line, re.IGNORECASE)]
    foreign = [re.sub("(?i)phg([-_])", r"wan\1", line) for line in named]
    assert len(named) >= 5 and refused(push, foreign) == foreign


def test_what_is_pushed_to_is_read_by_the_same_commands():
    for vendor in REGISTRY.all():
        if vendor.push:
            profile = read_profile(vendor.name)
            assert profile.push
            assert (profile.configuration, profile.counters) == (vendor.push.snapshot_command, vendor.push.counter_commands)
    with pytest.raises(UnknownPlatform, match="junk_os"):
        accounts.account_text("junk_os")
