"""Rows for every page: a small network in the middle of an incident. Names and addresses are made up."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group, User

from flowguard.models import (
    Enforcement,
    EnforcementEvent,
    Guard,
    IdentityEntry,
    NeverTouch,
    Observation,
    ObservationPoint,
    Sensor,
    StreamGap,
    Verdict,
    VerdictBatch,
)
from policyhub.actions import audit, changes_record
from policyhub.actions.secrets import seal
from policyhub.domain.change import Commands
from policyhub.models import (
    Change,
    ChangeEvent,
    ConfigSnapshot,
    Credential,
    Device,
    DeviceGroup,
    Exemption,
    Finding,
    HostKey,
    KillSwitch,
    Realm,
    Schedule,
    Sweep,
)

PASSWORD = "correct horse battery"
NS = 1_000_000_000
INSTALL = (
    "nft add table inet phg_core1",
    "nft add set inet phg_core1 members4 '{ type ipv4_addr; flags interval; }'",
    "nft add chain inet phg_core1 mark '{ type filter hook prerouting priority -150; policy accept; }'",
    "nft add rule inet phg_core1 mark iifname in0 ip saddr @members4 ip dscp { cs5, va, ef, cs6, cs7 } counter ip dscp set cs0",
)
INVERSE = ("nft delete table inet phg_core1",)
SECTION = "table inet phg_core1 {\n\tset members4 {\n\t\ttype ipv4_addr\n\t\tflags interval\n%s\t}\n\tchain mark { ... }\n}\n"
SPEC: dict[str, Any] = {
    "name": "PHG-CORE1",
    "interfaces": ["in0"],
    "marks": [40, 44, 46, 48, 56],
    "target_dscp": 0,
    "rate_bps": None,
    "families": [4, 6],
}


@dataclass(frozen=True)
class Sample:
    admin: User
    viewer: User
    approver: User
    device: Device
    guard: Guard
    proposed: Change
    confirmed: Change
    verdict: Verdict
    enforcement: Enforcement
    finding: Finding
    snapshot: ConfigSnapshot
    key: HostKey


def users() -> tuple[User, User, User]:
    admin = User.objects.create_superuser("admin", password=PASSWORD)
    viewer = User.objects.create_user("viewer", password=PASSWORD)
    approver = User.objects.create_user("wang.fang", password=PASSWORD)
    viewer.groups.add(Group.objects.get(name="Viewers"))
    approver.groups.add(Group.objects.get(name="Approvers"), Group.objects.get(name="Viewers"))
    return admin, viewer, approver


def _ns(at: datetime) -> int:
    return int(at.timestamp()) * NS


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
        platform="linux_nftables",
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
        quarantine_reason="the login was refused once; no second try, so that the account is not locked",
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
    text = "hostname core-sw1\nusername hub secret 9 $9$abcdefghijk\nsnmp-server community s3cretword ro\ninterface in0\n"
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
    return snapshot, key


FINDINGS = (
    ("PH204", "ef-without-limit", "critical", "QOS-CORE", "class VOICE", "EF enters here and nothing limits it."),
    (
        "PH003",
        "shadowed-rule",
        "high",
        "OUTSIDE_IN",
        "line 118",
        "permit tcp 10.20.0.0/16 is covered by lines 12 and 40, which deny.",
    ),
    ("PH004", "overbroad-rule", "high", "OUTSIDE_IN", "line 7", "permits 65,536 addresses to every port of 10.20.5.0/24."),
    ("PH001", "zombie-rule", "medium", "INSIDE_OUT", "line 30", "no hit in 92 days; counting is proven by two readings."),
    ("PH002", "no-hit-evidence", "low", "INSIDE_OUT", "line 31", "only 12 of 90 days are covered by readings."),
    ("PH007", "disabled-rule", "info", "INSIDE_OUT", "line 44", "the rule is disabled."),
)


def findings(device: Device, now: datetime, count: int = len(FINDINGS)) -> Finding:
    for index in range(count):
        code, name, severity, policy, rule, message = FINDINGS[index % len(FINDINGS)]
        row = Finding.objects.create(
            device=device,
            fingerprint=hashlib.sha256(f"{device.pk}/{index}".encode()).hexdigest(),
            code=code,
            name=name,
            severity=severity,
            policy=policy,
            rule=rule if index < len(FINDINGS) else f"{rule}/{index}",
            message=message,
            lines=[118, 119],
            by=["line 12", "line 40"],
            evidence={"hits": None, "window_days": 92, "witness": "tcp 10.20.1.9:40000 > 10.2.0.5:443"},
            fix="Remove it after a week disabled.",
            first_seen_at=now - timedelta(days=3),
            last_seen_at=now - timedelta(hours=2),
            status="regressed" if index == 1 else "new",
        )
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
        health={"received": 48_211_902, "dropped": {"kernel": 0, "ring": 12, "spool": 0}, "decode_errors": 3, "engine": "0.1.0"},
    )
    ObservationPoint.objects.create(sensor=sensor, name="in0", realm=core.realm, interface="mirror0")
    point = ObservationPoint.objects.create(sensor=sensor, name="out0", realm=core.realm, interface="mirror1", stands_behind=core)
    Sensor.objects.create(name="branch-2")
    Observation.objects.create(
        point=point,
        start_ns=_ns(now) - NS,
        end_ns=_ns(now),
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


def verdict(sensor: Sensor, now: datetime, number: int = 0, **fields: Any) -> Verdict:
    values: dict[str, Any] = {
        "name": "class-not-allowed",
        "src": f"10.10.8.{101 + number % 150}",
        "dst": "10.20.8.200",
        "dscp": 46,
        "severity": "critical",
        "business": "algorithm test",
        "identity_name": "algo",
        "bytes": 20_400_000_000,
        "packets": 13_600_000,
        "first_ns": _ns(now - timedelta(seconds=51)),
        "last_ns": _ns(now),
        "server_port": "9000",
    }
    return Verdict.objects.create(
        uid=hashlib.md5(f"{number}{fields}".encode()).hexdigest(),
        sensor=sensor,
        point="in0",
        proto="tcp",
        revision=7,
        confidence=0.97,
        signals=["dscp-outside-allowance", "volume", "persisted"],
        received_at=now,
        evidence=[
            {
                "kind": "first-packet",
                "point": "in0",
                "ts_ns": _ns(now) - 51 * NS + 123_456_789,
                "sport": 40112,
                "dport": 9000,
                "ip_id": 4711,
            },
            {"kind": "last-packet", "point": "in0", "ts_ns": _ns(now), "sport": 40112, "dport": 9000, "ip_id": None},
            {"kind": "allowance", "bundle": "ab" * 32, "allowed_dscp": [0, 8]},
            {"kind": "rewritten", "from_dscp": 46, "to_dscp": {"0": 1200}},
            {"kind": "said-by-a-newer-engine", "text": "burst", "frames": 7},
        ],
        **{**values, **fields},
    )


RAILS = [
    {
        "name": "mode",
        "passed": True,
        "allows": "act",
        "text": "the device group is in %(mode)s mode, profile %(profile)s",
        "values": {"mode": "auto", "profile": "lab"},
    },
    {
        "name": "evidence",
        "passed": True,
        "allows": "act",
        "text": "confidence %(confidence).2f (at least %(floor).2f), signals: %(signals)d (at least %(needed)d)",
        "values": {"confidence": 0.97, "floor": 0.9, "signals": 3, "needed": 1},
    },
    {"name": "never-touch", "passed": True, "allows": "act", "text": "not on the never-touch list", "values": {}},
    {"name": "capture-loss", "passed": False, "allows": "propose", "text": "the sensor does not report its drops", "values": {}},
]


def change(device: Device, now: datetime, kind: str, state: str, number: int, **fields: Any) -> Change:
    """A change whose plan hash is right, so that it can be approved."""
    member = {"member": f"10.10.8.{100 + number % 150}/32"} if kind.startswith("member") else {}
    adding = (f"nft add element inet phg_core1 members4 {{ {next(iter(member.values()), '')} }}",)
    lines, inverse = (adding, tuple(line.replace("add", "delete") for line in adding)) if member else (INSTALL, INVERSE)
    spec = {**SPEC, **member}
    row = Change(
        device=device,
        kind=kind,
        state=state,
        spec=spec,
        lines=list(lines),
        inverse=list(inverse),
        reads=["nft -s list ruleset"],
        actor="flowguard",
        idempotency_key=f"sample-{number}",
        created_at=now,
        guardrails=RAILS if member else [],
        reason="prepared in the change window of Sunday" if not member else f"enforcement #{number}, profile lab",
        **fields,
    )
    row.plan_sha256 = changes_record.plan_sha256(device, kind, spec, Commands(lines, inverse, ("nft -s list ruleset",)))
    row.save()
    return row


def timeline(row: Change, now: datetime, *states: tuple[str, str]) -> None:
    for index, (state, text) in enumerate(states):
        at = now - timedelta(seconds=2 * (len(states) - index))
        ChangeEvent.objects.create(
            change=row,
            at=at,
            state=state,
            message=text,
            data={"said": {"text": text, "values": {"lines": 1, "who": "wang.fang"}}},
        )


def incident(core: Device, sensor: Sensor, now: datetime, admin: User) -> tuple[Guard, Change, Change, Verdict, Enforcement]:
    install = change(
        core, now - timedelta(days=2), "guard-install", "confirmed", 1, push_outcome="applied", after_section=SECTION % ""
    )
    timeline(
        install,
        now - timedelta(days=2),
        *((state, state) for state in ("proposed", "approved", "armed", "pushed", "verified", "confirmed")),
    )
    guard = Guard.objects.create(
        device=core, name="PHG-CORE1", spec=SPEC, state="installed", install_change=install, created_at=now - timedelta(days=2)
    )
    added = SECTION % "\t\telements = { 10.10.8.103 }\n"
    confirmed = change(
        core,
        now - timedelta(minutes=4),
        "member-add",
        "confirmed",
        3,
        push_outcome="applied",
        confirm_by="packets",
        before_section=SECTION % "",
        after_section=added,
        pushed_at=now - timedelta(minutes=4),
    )
    timeline(
        confirmed,
        now,
        ("proposed", "planned: %(lines)d lines, inverse ready"),
        ("approved", "approved by %(who)s"),
        ("preflight", "reading the device before the push"),
        ("armed", "%(lines)d lines and their inverse are ready"),
        ("pushing", "sending %(lines)d lines"),
        ("pushed", "all lines sent, no line was refused"),
        ("verified", "a new session reads exactly what was planned"),
        ("confirmed", "confirmed"),
    )
    proposed = change(core, now, "member-add", "proposed", 2, confirm_by="packets", requested_by=None)
    timeline(proposed, now, ("proposed", "planned: %(lines)d lines, inverse ready"))
    first = verdict(sensor, now, 0)
    verdict(sensor, now, 1)
    held = verdict(
        sensor, now - timedelta(minutes=30), 2, business="backup", identity_name="bkc", src="10.10.9.91", severity="high"
    )
    verdict(
        sensor,
        now,
        3,
        name="dscp-rewritten",
        standing="network",
        src="10.10.2.21",
        business="core trading",
        severity="medium",
        dscp=0,
    )
    verdict(
        sensor,
        now,
        4,
        name="unknown-identity-in-priority",
        src="172.16.9.9",
        business="",
        identity_name="",
        severity="high",
        bytes=8_000,
        packets=8,
    )
    active = Enforcement.objects.create(
        guard=guard,
        verdict=held,
        realm=core.realm,
        member="10.10.9.91/32",
        state="active",
        outcome="helped",
        mode="auto",
        profile="lab",
        guardrails=RAILS,
        add_change=confirmed,
        idempotency_key="e1",
        notice_ns=_ns(now - timedelta(minutes=5)),
        created_at=now - timedelta(minutes=5),
        active_at=now - timedelta(minutes=4),
        expires_at=now + timedelta(hours=7, minutes=11),
        after={
            "before": {
                "windows": 10,
                "marked_bps": 3_200_000_000,
                "offender_bps": 3_200_000_000,
                "marked_share": 1.0,
                "retransmitted_ratio": 0.12,
            },
            "after": {
                "windows": 6,
                "marked_bps": 0,
                "offender_bps": 2_900_000_000,
                "marked_share": 0.0,
                "retransmitted_ratio": None,
            },
            "seconds_from_first_packet": 9.412,
        },
    )
    for state, text, values in (
        (
            "applying",
            "every guard rail allows it: %(member)s goes into %(guard)s",
            {"member": "10.10.9.91/32", "guard": "PHG-CORE1"},
        ),
        (
            "active",
            "judged by packets: %(outcome)s (%(reason)s)",
            {"outcome": "helped", "reason": "0.00 % of the offender's bytes still carry the mark"},
        ),
    ):
        EnforcementEvent.objects.create(enforcement=active, at=now - timedelta(minutes=4), state=state, message=text, data=values)
    waiting = Enforcement.objects.create(
        guard=guard,
        verdict=first,
        realm=core.realm,
        member="10.10.8.101/32",
        state="proposed",
        mode="propose",
        profile="lab",
        guardrails=RAILS,
        add_change=proposed,
        idempotency_key="e2",
        notice_ns=first.first_ns,
        created_at=now,
    )
    EnforcementEvent.objects.create(
        enforcement=waiting,
        at=now,
        state="proposed",
        message="proposed: %(member)s into %(guard)s; a person decides",
        data={"member": "10.10.8.101/32", "guard": "PHG-CORE1"},
    )
    Enforcement.objects.create(
        guard=None,
        verdict=first,
        realm=core.realm,
        member="172.16.9.9/32",
        state="observed",
        mode="observe",
        profile="production",
        guardrails=RAILS,
        idempotency_key="e3",
        created_at=now,
    )
    return guard, proposed, confirmed, first, active


def sample(now: datetime | None = None) -> Sample:
    """Everything at once; needs the roles that migrations make."""
    now = now or datetime.now(tz=UTC)
    admin, viewer, approver = users()
    core, edge, _ = devices(now)
    snapshot, key = inventory(core, edge, now)
    finding = findings(edge, now)
    identities(core.realm)
    sensor = sensors(core, now)
    guard, proposed, confirmed, seen, active = incident(core, sensor, now, admin)
    stuck = change(
        edge,
        now - timedelta(hours=3),
        "guard-remove",
        "revert-failed",
        9,
        push_outcome="partial",
        error="the inverse did not take effect 2 times",
    )
    timeline(stuck, now, ("revert-failed", "something that is not ours changed while the inverse was sent; look at the device"))
    Schedule.objects.create(name="sample", task="policyhub.start_sweep", every_s=86400, next_due_at=now + timedelta(days=1))
    KillSwitch.objects.create(
        scope="campus", engaged=True, changed_by="wang.fang", changed_at=now, reason="frozen for the quarter's end"
    )
    audit.record("sample.made", actor=admin, at=now, devices=3)
    return Sample(admin, viewer, approver, core, guard, proposed, confirmed, seen, active, finding, snapshot, key)


def more_of_everything(rows: Sample, sensor: Sensor, now: datetime, number: int) -> None:
    """One more row in every list."""
    realm = rows.device.realm
    device = Device.objects.create(
        name=f"more-{number}",
        realm=realm,
        group=rows.device.group,
        platform="cisco_ios",
        host="192.0.2.1",
        quarantine_reason="sample",
    )
    HostKey.objects.create(
        device=device, algorithm="ssh-ed25519", public_key="A", fingerprint=f"SHA256:{number}", first_seen_at=now
    )
    HostKey.objects.create(
        device=rows.device, algorithm="ssh-rsa", public_key="A", fingerprint=f"SHA256:{number}", first_seen_at=now
    )
    ConfigSnapshot.objects.create(
        device=rows.device, taken_at=now, taken_by="sweep", sha256=f"{number:064d}", text_envelope=seal("x"), lines=1
    )
    stuck = change(rows.device, now, "member-add", "revert-failed", 1000 + number, error="sample")
    asked = change(rows.device, now, "member-add", "proposed", 2000 + number)
    timeline(asked, now, ("proposed", "sample"), ("confirmed", "sample"))
    timeline(rows.confirmed, now, ("confirmed", "sample"))
    guard = Guard.objects.create(device=device, name="PHG-MORE", spec=SPEC, install_change=asked, created_at=now)
    seen = verdict(sensor, now, 1000 + number, business=f"business {number}")
    for index, (place, state) in enumerate(((guard, "active"), (rows.guard, "needs-person"))):
        row = Enforcement.objects.create(
            guard=place,
            verdict=seen if index else rows.verdict,
            realm=realm,
            member=f"10.77.{index}.{number}/32",
            state=state,
            mode="auto",
            profile="lab",
            add_change=stuck,
            idempotency_key=f"more-{number}-{index}",
            created_at=now,
        )
        EnforcementEvent.objects.create(enforcement=row, at=now, state=state, message="sample")
    EnforcementEvent.objects.create(enforcement=rows.enforcement, at=now, state="active", message="sample")
    verdict(sensor, now, 2000 + number, src=rows.verdict.src, dst=f"10.20.9.{number}")
    IdentityEntry.objects.create(realm=realm, prefix=f"10.99.{number}.0/24", name=f"more {number}")
    extra = Sensor.objects.create(name=f"sensor-{number}", group=rows.device.group, last_seen_at=now, judging=True)
    ObservationPoint.objects.create(sensor=extra, name="in0", realm=realm, device=device, stands_behind=rows.device)
    StreamGap.objects.create(
        sensor=extra, stream=uuid.UUID(int=number), from_sequence=1, to_sequence=2, reason="spool-full", noticed_at=now
    )
    DeviceGroup.objects.create(name=f"group-{number}", mode="observe")
    Realm.objects.create(name=f"realm-{number}")
    KillSwitch.objects.create(scope=f"scope-{number}", engaged=True)
    audit.record("sample.more", actor="test", at=now, number=number)
