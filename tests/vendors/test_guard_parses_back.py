"""A guard pushed line by line to the simulated switches (which share no code with the vendors) parses back as what was meant."""

from __future__ import annotations

import ipaddress
import re

import pytest

from flowguard.lab.simulators.cisco_ios import IosDevice
from flowguard.lab.simulators.huawei_vrp import VrpDevice
from policyhub.domain.addresses import AddressSet
from policyhub.domain.change import GuardSpec
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Action
from policyhub.vendorkit.contract import Vendor
from policyhub.vendorkit.registry import REGISTRY

BASES = {
    "cisco_ios": "hostname rim-1\ninterface GigabitEthernet1/0/7\n description lab\ninterface GigabitEthernet1/0/8\n",
    "huawei_vrp": "sysname rim-1\n#\ninterface GigabitEthernet0/0/7\n port link-type trunk\n#\ninterface XGigabitEthernet0/0/1\n",
}
PORT = {"cisco_ios": "GigabitEthernet1/0/7", "huawei_vrp": "GigabitEthernet0/0/7"}
ENTER = {"cisco_ios": "configure terminal", "huawei_vrp": "system-view"}
MEMBERS = ("10.10.8.101/32", "10.10.9.0/24", "2001:db8:8::101/128")
NOBODY = AddressSet.of("255.255.255.255/32", "ff00::/128")
EACH = pytest.mark.parametrize("platform", BASES)


def device_of(platform: str) -> IosDevice | VrpDevice:
    device = IosDevice() if platform == "cisco_ios" else VrpDevice()
    device.load(BASES[platform])
    return device


def push(device: IosDevice | VrpDevice, vendor: Vendor, lines: tuple[str, ...]) -> None:
    session = device.session()
    session.type(ENTER[vendor.name])
    for line in lines:
        answer = session.type(line)
        assert vendor.push and not re.search(vendor.push.error_regex, answer), f"{line}\n{answer}"


def taken(config: DeviceConfig, spec: GuardSpec) -> AddressSet:
    """Whom the guard's lists permit, and only the guard's."""
    found = AddressSet()
    for policy in config.policies:
        if policy.name.startswith(spec.name):
            assert policy.purpose == "match"
            for rule in policy.rules:
                assert rule.match.is_exact
                assert rule.match.services[0].is_any
                if rule.action is Action.PERMIT:
                    found = found.union(rule.match.source)
    return found.minus(NOBODY)


@EACH
@pytest.mark.parametrize("target", [0, 8])
def test_installed_guard_is_the_intended_policy_on_the_intended_port(platform: str, target: int) -> None:
    vendor, device = REGISTRY.get(platform), device_of(platform)
    assert vendor.render
    spec = GuardSpec("PHG-CORE1", (PORT[platform],), frozenset({40, 46}), target_dscp=target)
    push(device, vendor, vendor.render.install(spec, device.running()).lines)
    config = vendor.parse(device.running())
    assert config.unparsed == ()
    (policy,) = [policy for policy in config.qos_policies if policy.name == "PHG-CORE1"]
    assert [(a.interface, a.direction) for a in policy.attachments] == [(PORT[platform], "in")]
    assert [made.match.acls for made in policy.classes] == [("PHG-CORE1",), ("PHG-CORE1-V6",)]
    for made in policy.classes:
        assert made.match.dscp == frozenset({40, 46})
        assert made.match.match_all
        assert not made.match.any
        assert made.match.other == ()
        assert made.marker is not None
        assert made.marker.dscp == target
        assert made.marker.queue in (None, 0)
        assert made.policer is None
    assert taken(config, spec).is_empty, "an installed guard takes nobody"


@EACH
def test_meter_parses_back_with_its_rate(platform: str) -> None:
    vendor, device = REGISTRY.get(platform), device_of(platform)
    assert vendor.render
    spec = GuardSpec("PHG-M", (PORT[platform],), frozenset({46}), rate_bps=500_000_000, families=(4,))
    push(device, vendor, vendor.render.install(spec, device.running()).lines)
    (policy,) = vendor.parse(device.running()).qos_policies
    (made,) = policy.classes
    assert made.policer is not None
    assert (made.policer.rate_bps, made.policer.exceed_action) == (500_000_000, "drop")


@EACH
def test_members_parse_back_and_nothing_is_left_at_the_end(platform: str) -> None:
    vendor, device = REGISTRY.get(platform), device_of(platform)
    assert vendor.render
    spec = GuardSpec("PHG-CORE1", (PORT[platform],), frozenset({46}))
    clean = device.running()
    installed = vendor.render.install(spec, clean)
    push(device, vendor, installed.lines)
    empty = device.running()
    steps = []
    for member in MEMBERS:
        steps.append(vendor.render.add_member(spec, member, device.running()))
        push(device, vendor, steps[-1].lines)
    whom = taken(vendor.parse(device.running()), spec)
    assert whom == AddressSet.of(*MEMBERS)
    assert sum(ipaddress.ip_network(member).num_addresses for member in MEMBERS) == whom.size
    for step in steps:
        push(device, vendor, step.inverse)
    assert device.running() == empty
    push(device, vendor, installed.inverse)
    assert device.running() == clean


@EACH
def test_counters_of_the_simulated_switch_are_read(platform: str) -> None:
    vendor, device = REGISTRY.get(platform), device_of(platform)
    assert vendor.render
    spec = GuardSpec("PHG-CORE1", (PORT[platform],), frozenset({46}), families=(4,))
    push(device, vendor, vendor.render.install(spec, device.running()).lines)
    device.count("PHG-CORE1", 1234, 99_000)
    session = device.session()
    outputs = {command: session.type(command) for command in vendor.render.reads(spec)}
    state = vendor.render.read(spec, outputs)
    assert (state.installed, state.intact, state.packets, state.bytes, state.problems) == (True, True, 1234, 99_000, ())
