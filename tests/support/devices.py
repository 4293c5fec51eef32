"""Device rows in front of simulated devices, and a bench that walks a change to its end."""

from __future__ import annotations

import dataclasses
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from flowguard.lab.simulators import PLATFORMS, Device, Logins, Simulator
from policyhub.actions import changes, secrets
from policyhub.domain.change import ChangeKind, GuardSpec
from policyhub.domain.change_states import WORKING
from policyhub.models import Change, Credential, DeviceGroup, HostKey, Realm
from policyhub.models import Device as DeviceRow
from policyhub.transport import PublicKey, fetch
from policyhub.vendorkit.registry import REGISTRY

USER, PASSWORD, ENABLE = "push-user", "Correct-horse-9", "Enable-battery-7"
CONFIGS = {
    "cisco_ios": """hostname sw1
!
class-map match-any VOICE
 match dscp ef
!
policy-map UPLINK
 class VOICE
  priority percent 30
!
interface GigabitEthernet1/0/1
 description desks
 switchport mode access
!
interface GigabitEthernet1/0/2
 service-policy input UPLINK
!
interface GigabitEthernet1/0/24
 service-policy output UPLINK
!
ip access-list extended MGMT
 10 permit tcp 192.0.2.0 0.0.0.255 any eq 22
 20 deny ip any any
!
line vty 0 4
 access-class MGMT in
!
end
""",
    "huawei_vrp": """#
sysname core1
#
acl number 3001
 rule 5 permit tcp source 192.0.2.0 0.0.0.255 destination-port eq 22
#
traffic classifier VOICE operator or
 if-match dscp ef
#
traffic behavior VOICE
 queue ef bandwidth pct 30
#
traffic policy UPLINK match-order config
 classifier VOICE behavior VOICE
#
interface GigabitEthernet0/0/1
 description desks
 port link-type access
#
interface GigabitEthernet0/0/2
 traffic-policy UPLINK inbound
#
user-interface vty 0 4
 acl 3001 inbound
#
return
""",
}
PORTS = {"cisco_ios": "GigabitEthernet1/0/1", "huawei_vrp": "GigabitEthernet0/0/1"}
TAKEN = {"cisco_ios": "GigabitEthernet1/0/2", "huawei_vrp": "GigabitEthernet0/0/2"}


class Clock:
    """Wall time that a test may push forward."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def skip(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)


def make_row(
    platform: str, host: str, port: int, *, password: str = PASSWORD, enable: str = ENABLE, key: str = "", name: str = ""
) -> DeviceRow:
    realm, _ = Realm.objects.get_or_create(name="")
    group, _ = DeviceGroup.objects.get_or_create(name="lab", defaults={"profile": "lab", "mode": "auto"})
    name = name or f"{platform}-{port}"
    credential = Credential.objects.create(
        name=name,
        username="root" if key else USER,
        purpose="push",
        password_envelope=secrets.seal("" if key else password),
        private_key_envelope=secrets.seal(key),
        enable_envelope=secrets.seal(enable),
    )
    return DeviceRow.objects.create(
        name=name,
        realm=realm,
        group=group,
        platform=platform,
        host=host,
        port=port,
        push_credential=credential,
        collect_credential=credential,
    )


def trust(row: DeviceRow, key: PublicKey | None = None) -> HostKey:
    key = key or fetch(row.host, row.port)
    now = datetime.now(UTC)
    return HostKey.objects.create(
        device=row, algorithm=key.algorithm, public_key=key.body, fingerprint=key.fingerprint, state="trusted", first_seen_at=now
    )


def hurry(monkeypatch: Any, platform: str, seconds: float, **more: Any) -> None:
    """The platform's own manner with shorter patience, so that a lost answer costs a test seconds and not minutes."""
    vendor = REGISTRY.get(platform)
    assert vendor.push is not None
    push = dataclasses.replace(vendor.push, read_timeout_s=seconds, slow=(), **more)
    monkeypatch.setitem(REGISTRY._loaded, platform, dataclasses.replace(vendor, push=push))


class Bench:
    """One device with its row; `plan`, `approve` and `finish` do what the console and the scheduler do."""

    def __init__(self, row: DeviceRow, port: str, device: Device | None = None, sim: Simulator | None = None) -> None:
        self.row, self._device, self._sim, self.clock = row, device, sim, Clock()
        self.spec = GuardSpec("PHG-CORE1", (port,), frozenset({46, 40}))
        self.asked = 0

    @property
    def device(self) -> Device:
        assert self._device is not None
        return self._device

    @property
    def sim(self) -> Simulator:
        assert self._sim is not None
        return self._sim

    def plan(self, kind: ChangeKind = ChangeKind.GUARD_INSTALL, member: str | None = None, **more: Any) -> Change:
        self.asked += 1
        given: dict[str, Any] = {
            "idempotency_key": changes.key(self.row.pk, self.asked),
            "requested_by": User.objects.get_or_create(username="requester")[0],
            "guardrails": [],
            **more,
        }
        return changes.plan(
            device=self.row, kind=kind, spec=self.spec, member=member, reason="test", actor="tester", now=self.clock(), **given
        )

    def approve(self, change: Change) -> Change:
        approver, _ = User.objects.get_or_create(username="approver")
        changes.approve(change=change, approver=approver, plan_sha256=change.plan_sha256, now=self.clock())
        change.refresh_from_db()
        return change

    def step(self, change: Change, worker: str = "worker") -> Change:
        changes.step(change_id=change.pk, worker=worker, clock=self.clock)
        change.refresh_from_db()
        return change

    def finish(self, change: Change, *, limit_s: float = 180.0, skip: bool = False) -> Change:
        """Step whenever due until nobody has a next move. skip: push the clock forward instead of waiting."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            self.step(change)
            if change.state not in WORKING or change.next_step_at is None:
                return change
            wait = (change.next_step_at - self.clock()).total_seconds()
            if change.state == Change.State.VERIFIED and wait > 1 and not skip:
                return change
            if skip:
                self.clock.skip(max(0.0, wait) + 0.01)
            else:
                time.sleep(max(0.0, min(wait, 1.0)))
        raise AssertionError(f"change is still {change.state} after {limit_s} s: {[e.message for e in change.events.all()]}")

    def do(self, kind: ChangeKind = ChangeKind.GUARD_INSTALL, member: str | None = None, **more: Any) -> Change:
        return self.finish(self.approve(self.plan(kind, member, **more)))

    def story(self, change: Change) -> list[str]:
        return [event.state for event in change.events.order_by("pk") if "from" in event.data or event.state == "proposed"]

    def said(self, change: Change) -> str:
        return "\n".join(event.message for event in change.events.order_by("pk"))


@contextmanager
def simulated(platform: str, *, enable: bool = True) -> Any:
    """A running simulator, its trusted row, and a bench on both."""
    device = PLATFORMS[platform]()
    device.load(CONFIGS[platform])
    device.enable_secret = ENABLE if enable and platform == "cisco_ios" else ""
    with Simulator(device, Logins({USER: PASSWORD})) as sim:
        row = make_row(platform, "127.0.0.1", sim.port)
        trust(row)
        yield Bench(row, PORTS[platform], device, sim)
