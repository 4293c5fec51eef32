"""The network before the incident: people, devices, ledger, sensors, findings. Names and addresses are made up."""

from __future__ import annotations

import hashlib
import uuid
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, User

from flowguard.models import (
    IdentityEntry,
    NeverTouch,
    Observation,
    ObservationPoint,
    Sensor,
    SensorShape,
    SensorStream,
    StreamGap,
    VerdictBatch,
)
from policyhub.actions import counters
from policyhub.actions.secrets import seal
from policyhub.actions.sessions import LOGIN_REFUSED
from policyhub.checks import ef_without_limit, overbroad_rule, shadowed_rule, unlogged_rule, zombie_rule
from policyhub.checks.registry import select
from policyhub.checks.wording import ACTION
from policyhub.domain import hit_ledger
from policyhub.domain.message import Message
from policyhub.domain.rules import Action
from policyhub.models import ConfigSnapshot, Credential, Device, DeviceGroup, Exemption, Finding, HostKey, Realm, Sweep
from tests.support.sample_shape import shape

PASSWORD = "correct horse battery"
NS = 1_000_000_000

CONFIG = """hostname core-sw1
username hub secret 9 $9$abcdefghijk
snmp-server community s3cretword ro
interface GigabitEthernet0/1
 ip access-group EDGE-IN in
ip access-list extended EDGE-IN
 10 permit tcp 10.20.0.0 0.0.255.255 host 10.2.0.5 eq 443
 20 deny ip any any log
zzz-feature that nobody knows password hunter2hunter2
"""


def nanoseconds(at: datetime) -> int:
    return int(at.timestamp()) * NS


def users() -> tuple[User, User, User]:
    admin = User.objects.create_superuser("admin", password=PASSWORD)
    viewer = User.objects.create_user("viewer", password=PASSWORD)
    approver = User.objects.create_user("wang.fang", password=PASSWORD)
    viewer.groups.add(Group.objects.get(name="Viewers"))
    approver.groups.add(Group.objects.get(name="Approvers"), Group.objects.get(name="Viewers"))
    return admin, viewer, approver


def devices(now: datetime) -> tuple[Device, Device, Device]:
    realm, site = Realm.objects.get_or_create(name="")[0], Realm.objects.get_or_create(name="site-b")[0]
    sample = DeviceGroup.objects.create(name="sample", mode="auto", profile="lab", is_sample=True, enforcement_ttl_s=900)
    campus = DeviceGroup.objects.create(name="campus")
    login = Credential.objects.create(
        name="push-core", username="hub", purpose="push", password_envelope=seal("not-shown-anywhere")
    )
    core = Device.objects.create(
        name="core-sw1",
        realm=realm,
        group=sample,
        platform="cisco_ios",
        role="core",
        host="192.0.2.11",
        collect_credential=login,
        push_credential=login,
    )
    edge = Device.objects.create(
        name="access-sw7", realm=realm, group=campus, platform="cisco_ios", role="access", host="192.0.2.27"
    )
    wall = Device.objects.create(
        name="fw-branch",
        realm=site,
        group=campus,
        platform="cisco_asa",
        role="firewall",
        host="198.51.100.9",
        quarantine_reason=LOGIN_REFUSED,
    )
    return core, edge, wall


def inventory(core: Device, edge: Device, now: datetime) -> tuple[ConfigSnapshot, HostKey]:
    HostKey.objects.create(
        device=core,
        algorithm="ssh-ed25519",
        public_key="AAAAC3Nza",
        fingerprint="SHA256:" + "q7" * 21,
        state="trusted",
        first_seen_at=now - timedelta(days=9),
        decided_by="wang.fang",
        decided_at=now - timedelta(days=9),
    )
    key = HostKey.objects.create(
        device=edge, algorithm="ecdsa-sha2-nistp256", public_key="AAAAE2Vj", fingerprint="SHA256:" + "Zk" * 21, first_seen_at=now
    )
    text = CONFIG
    snapshot = ConfigSnapshot.objects.create(
        device=core,
        taken_at=now - timedelta(hours=2),
        taken_by="sweep #3",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        text_envelope=seal(text),
        lines=4,
        rules=182,
        unparsed=3,
    )
    queue_counters(core, now)
    return snapshot, key


QUEUES = """ GigabitEthernet1/0/24
  Service-policy output: UPLINK
    Class-map: VOICE (match-any)
      (queue depth/total drops/no-buffer drops) {depth}/{drops}/0
      (pkts output/bytes output) {sent}/{octets}
      Drop probability 3
    Class-map: class-default (match-any)
      (queue depth/total drops/no-buffer drops) 0/0/0
      (pkts output/bytes output) {rest}/{rest}00
"""


def queue_counters(device: Device, now: datetime) -> None:
    """Three hours of readings; the switch restarted in the middle, and the priority queue drops since then."""
    for number in range(13):
        since = number if number < 5 else number - 5
        sent = since * 900_000 + (since * 37_123) % 240_000
        lost = 1_500 * since**2 if number >= 5 else 0
        text = QUEUES.format(depth=since * 7 % 40, drops=lost, sent=sent, octets=sent * 120, rest=since * 2_345_678)
        counters.keep(device, text, origin="poll", read_at=now - timedelta(minutes=15 * (12 - number)))


def _said(template: str, **values: object) -> Message:
    return Message(template, values)


A_SLASH_16 = _said("%(count)s addresses", count="65,536")
PERMIT, DENY = (ACTION[action] for action in (Action.PERMIT, Action.DENY))
COUNTED = {"counts": "packets", "read_at": "2026-11-30T08:00:00+00:00"}
# code, severity, policy, rule, what was found, evidence: as the checks write them
FINDINGS: tuple[tuple[str, str, str, str, Message, dict[str, Any]], ...] = (
    (
        "PH204",
        "critical",
        "QOS-CORE",
        "class VOICE",
        _said(ef_without_limit.ATTACHED, **{"class": "VOICE", "interfaces": "GigabitEthernet0/1"}),
        {"queue": "priority", "interfaces": ["GigabitEthernet0/1", "GigabitEthernet0/2"]},
    ),
    (
        "PH003",
        "high",
        "OUTSIDE_IN",
        "line 118",
        _said(shadowed_rule.TOGETHER, action=PERMIT, count=2, names="line 12, line 40"),
        {
            "cover": "union",
            "other_action": ["line 12"],
            "rule": "permit tcp 10.20.0.0 255.255.0.0 any eq 443",
            "causes": ["line 12: deny tcp 10.20.0.0 255.255.128.0 any", "line 40: permit ip 10.20.128.0 255.255.128.0 any"],
        },
    ),
    (
        "PH004",
        "high",
        "OUTSIDE_IN",
        "line 7",
        _said(overbroad_rule.TOO_MANY, sources=A_SLASH_16, destinations=A_SLASH_16, services=_said("every service"), times="16"),
        {"bits": 56.0, "source_bits": 16.0, "destination_bits": 16.0, "service_bits": 24.0, "max_bits": 52.0},
    ),
    (
        "PH001",
        "medium",
        "INSIDE_OUT",
        "line 30",
        _said(zombie_rule.NONE, since="2026-08-30", until="2026-11-30", hits=0, window=90),
        {**COUNTED, "hits": 0, "since": "2026-08-30T08:00:00+00:00", "proof": "readings"},
    ),
    (
        "PH002",
        "low",
        "INSIDE_OUT",
        "line 31",
        _said(hit_ledger.ABSENT, day="2026-08-30"),
        {**COUNTED, "hits": None, "reason": "the rule is not in the counters of 2026-08-30"},
    ),
    ("PH009", "info", "INSIDE_OUT", "line 44", _said(unlogged_rule.WITHOUT, action=DENY), {"rule": "deny ip any any"}),
)


def findings(device: Device, now: datetime, count: int = len(FINDINGS)) -> Finding:
    for index in range(count):
        code, severity, policy, rule, said, evidence = FINDINGS[index % len(FINDINGS)]
        (check,) = select([code])
        row = Finding.objects.create(
            device=device,
            fingerprint=hashlib.sha256(f"{device.pk}/{index}".encode()).hexdigest(),
            code=code,
            name=check.name,
            severity=severity,
            policy=policy,
            rule=rule if index < len(FINDINGS) else f"{rule}/{index}",
            message=str(said),
            said={"message": said.as_json(), "fix": Message(check.fix).as_json()},
            lines=[118, 119],
            by=["line 12", "line 40"],
            evidence=evidence,
            fix=check.fix,
            first_seen_at=now - timedelta(days=3),
            last_seen_at=now - timedelta(hours=2),
            status="regressed" if index == 1 else "new",
        )
    Device.objects.filter(pk=device.pk).update(checked_at=now - timedelta(hours=2))
    first = Finding.objects.order_by("pk").first()
    assert first is not None
    Exemption.objects.create(finding=row, owner="li.wei", reason="migration", granted_at=now, expires_at=now + timedelta(days=30))
    Sweep.objects.create(
        started_at=now - timedelta(hours=2),
        finished_at=now - timedelta(hours=2),
        started_by="schedule",
        state="partial",
        devices_total=3,
        devices_done=2,
        problems=[{"device": "fw-branch", "text": "quarantined"}],
    )
    return first


def identities(realm: Realm) -> None:
    rows = (
        ("10.10.8.0/24", "algo", "algorithm test", "li.wei", False, [0, 8], "22:00-06:00", 2000.0),
        ("10.10.2.21/32", "trade", "core trading", "chen.jie", True, [46], "", None),
        ("10.20.0.0/16", "servers", "server zone", "", True, None, "", None),
    )
    for prefix, name, business, owner, core, marks, window, peak in rows:
        IdentityEntry.objects.create(
            realm=realm,
            prefix=prefix,
            name=name,
            business=business,
            owner=owner,
            core=core,
            allowed_dscp=marks,
            active_window=window,
            peak_mbps=peak,
        )
    NeverTouch.objects.create(realm=realm, prefix="10.255.0.0/16", reason="management")


def sensors(core: Device, now: datetime) -> Sensor:
    sensor = Sensor.objects.create(
        name="core-1",
        group=core.group,
        last_seen_at=now,
        judging=True,
        bundle_version="ab" * 32,
        health={
            "received": 48_211_902,
            "dropped": {"kernel": 0, "ring": 12, "spool": 0},
            "decode_errors": 3,
            "engine": "0.1.0",
            "last_packet_ns": nanoseconds(now),
        },
    )
    ObservationPoint.objects.create(sensor=sensor, name="in0", realm=core.realm, interface="mirror0")
    point = ObservationPoint.objects.create(sensor=sensor, name="out0", realm=core.realm, interface="mirror1", stands_behind=core)
    Sensor.objects.create(name="branch-2")
    stream = SensorStream.objects.create(sensor=sensor, stream=UUID(int=1), contiguous_to=1, highest=1, last_received_at=now)
    SensorShape.objects.create(sensor=sensor, stream=stream, received_at=now, sequence=1, told=shape(nanoseconds(now)))
    Observation.objects.create(
        point=point,
        start_ns=nanoseconds(now) - NS,
        end_ns=nanoseconds(now),
        complete=True,
        sources=[],
        tcp=[{"dscp": 46, "data_segments": 900, "retransmitted": 108, "syn_retransmitted": 2, "zero_window": 0}],
    )
    StreamGap.objects.create(
        sensor=sensor,
        stream=uuid.UUID(int=5),
        from_sequence=5,
        to_sequence=9,
        verdicts=None,
        reason="never-arrived",
        noticed_at=now,
    )
    VerdictBatch.objects.create(sensor=sensor, stream=uuid.UUID(int=5), sequence=10, sha256="0" * 64, body=b"", received_at=now)
    return sensor
