"""The incident: verdicts, a guard with its changes, enforcements."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Any

from flowguard.models import Enforcement, EnforcementEvent, Guard, Sensor, Verdict
from policyhub.actions import changes_record
from policyhub.domain.change import Commands
from policyhub.domain.change_outcome import GuardPicture
from policyhub.domain.message import Message
from policyhub.models import Change, ChangeEvent, Device
from tests.support.sample_network import NS, nanoseconds

INSTALL = (
    "nft add table inet phg_core1",
    "nft add set inet phg_core1 members4 '{ type ipv4_addr; flags interval; }'",
    "nft add chain inet phg_core1 mark '{ type filter hook prerouting priority -150; policy accept; }'",
    "nft add rule inet phg_core1 mark iifname in0 ip saddr @members4 ip dscp { cs5, va, ef, cs6, cs7 } counter ip dscp set cs0",
)
INVERSE = ("nft delete table inet phg_core1",)
EMPTY, HELD = (GuardPicture(True, True, frozenset(members), 4).text for members in ((), ("10.10.8.103/32",)))
SPEC: dict[str, Any] = {
    "name": "PHG-CORE1",
    "interfaces": ["in0"],
    "marks": [40, 44, 46, 48, 56],
    "target_dscp": 0,
    "rate_bps": None,
    "families": [4, 6],
}
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
WAY = (
    ("proposed", "planned: %(lines)d lines, inverse ready"),
    ("approved", "approved by %(who)s"),
    ("preflight", "reading the device before the push"),
    ("armed", "%(lines)d lines and their inverse are ready"),
    ("pushing", "sending %(lines)d lines"),
    ("pushed", "all lines sent, no line was refused"),
    ("verified", "a new session reads exactly what was planned"),
    ("confirmed", "confirmed"),
)
RATES = ("marked_bps", "offender_bps", "marked_share", "retransmitted_ratio")
FIGURES = {
    "before": {"windows": 10, "sending": 6, **dict(zip(RATES, (3_200_000_000, 3_200_000_000, 1.0, 0.12), strict=True))},
    "after": {"windows": 6, "sending": 6, **dict(zip(RATES, (0, 2_900_000_000, 0.0, None), strict=True))},
    "seconds_from_first_packet": 9.412,
}


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
        "first_ns": nanoseconds(now - timedelta(seconds=51)),
        "last_ns": nanoseconds(now),
        "server_port": "9000",
        "received_at": now,
    }
    return Verdict.objects.create(
        uid=hashlib.md5(f"{number}{fields}".encode()).hexdigest(),
        sensor=sensor,
        point="in0",
        proto="tcp",
        revision=7,
        confidence=0.97,
        signals=["dscp-outside-allowance", "volume", "persisted"],
        evidence=[
            {
                "kind": "first-packet",
                "point": "in0",
                "ts_ns": nanoseconds(now) - 51 * NS + 123_456_789,
                "sport": 40112,
                "dport": 9000,
                "ip_id": 4711,
            },
            {"kind": "last-packet", "point": "in0", "ts_ns": nanoseconds(now), "sport": 40112, "dport": 9000, "ip_id": None},
            {"kind": "allowance", "bundle": "ab" * 32, "allowed_dscp": [0, 8]},
            {"kind": "rewritten", "from_dscp": 46, "to_dscp": {"0": 1200}},
            {"kind": "replayed", "shift_ns": 90_061 * NS},
            {"kind": "said-by-a-newer-engine", "text": "burst", "frames": 7, "places": ["a", "b"]},
        ],
        **{**values, **fields},
    )


def change(device: Device, now: datetime, kind: str, state: str, number: int, **fields: Any) -> Change:
    """A change whose plan hash is right, so that it can be approved."""
    member = {"member": f"10.10.8.{100 + number % 150}/32"} if kind.startswith("member") else {}
    adding = (f"nft add element inet phg_core1 members4 {{ {next(iter(member.values()), '')} }}",)
    lines, inverse = (adding, tuple(line.replace("add", "delete") for line in adding)) if member else (INSTALL, INVERSE)
    spec = {**SPEC, **member}
    what = Message("asked for by a person")
    why = Message(
        "enforcement #%(number)d, mode %(mode)s, profile %(profile)s: %(what)s",
        {"number": number, "mode": "request", "profile": "lab", "what": what},
    )
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
        reason=str(why) if member else "prepared in the change window of Sunday",
        reason_said=why.as_json() if member else {},
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


def guard_rows(core: Device, now: datetime) -> tuple[Guard, Change, Change]:
    """An installed guard, a change that was verified by packets, and one that waits for approval."""
    earlier = now - timedelta(days=2)
    install = change(core, earlier, "guard-install", "confirmed", 1, push_outcome="applied", after_section=EMPTY)
    timeline(
        install, earlier, *((state, state) for state in ("proposed", "approved", "armed", "pushed", "verified", "confirmed"))
    )
    guard = Guard.objects.create(
        device=core, name="PHG-CORE1", spec=SPEC, state="installed", install_change=install, created_at=earlier
    )
    sections = {"before_section": EMPTY, "after_section": HELD}
    then = now - timedelta(minutes=4)
    fields = {"push_outcome": "applied", "confirm_by": "packets", "pushed_at": then, **sections}
    confirmed = change(core, then, "member-add", "confirmed", 3, **fields)
    timeline(confirmed, now, *WAY)
    proposed = change(core, now, "member-add", "proposed", 2, confirm_by="packets")
    timeline(proposed, now, WAY[0])
    return guard, proposed, confirmed


def verdict_rows(sensor: Sensor, now: datetime) -> tuple[Verdict, Verdict]:
    """Two hosts of one business, a corrected one, a mark the network changed, an unknown sender. Returns first and corrected."""
    first = verdict(sensor, now, 0)
    verdict(sensor, now, 1)
    backup = {"business": "backup", "identity_name": "bkc", "src": "10.10.9.91", "severity": "high"}
    held = verdict(sensor, now - timedelta(minutes=30), 2, **backup)
    rewritten = {"name": "dscp-rewritten", "standing": "network", "src": "10.10.2.21", "severity": "medium", "dscp": 0}
    verdict(sensor, now, 3, business="core trading", **rewritten)
    unknown = {"name": "unknown-identity-in-priority", "src": "172.16.9.9", "severity": "high", "bytes": 8_000, "packets": 8}
    verdict(sensor, now, 4, business="", identity_name="", **unknown)
    return first, held


def active_row(guard: Guard, held: Verdict, confirmed: Change, now: datetime) -> Enforcement:
    """An enforcement that helped, with its figures."""
    row = Enforcement.objects.create(
        guard=guard, verdict=held, realm=guard.device.realm, member="10.10.9.91/32", state="active", outcome="helped",
        mode="auto", profile="lab", guardrails=RAILS, add_change=confirmed, idempotency_key="e1",
        notice_ns=nanoseconds(now - timedelta(minutes=5)), created_at=now - timedelta(minutes=5),
        active_at=now - timedelta(minutes=4), expires_at=now + timedelta(hours=7, minutes=11), after=FIGURES,
    )  # fmt: skip
    said = {
        "outcome": "helped",
        "reason": {"text": "%(percent).2f %% of the offender's bytes still carry the mark", "values": {"percent": 0}},
    }
    for state, text, values in (
        ("applying", "every guard rail allows it: %(member)s goes into %(guard)s", {"member": row.member, "guard": guard.name}),
        ("active", "judged by packets: %(outcome)s (%(reason)s)", said),
    ):
        EnforcementEvent.objects.create(enforcement=row, at=now - timedelta(minutes=4), state=state, message=text, data=values)
    return row


def incident(core: Device, sensor: Sensor, now: datetime) -> tuple[Guard, Change, Change, Verdict, Enforcement]:
    guard, proposed, confirmed = guard_rows(core, now)
    first, held = verdict_rows(sensor, now)
    active = active_row(guard, held, confirmed, now)
    waiting = Enforcement.objects.create(
        guard=guard, verdict=first, realm=core.realm, member="10.10.8.101/32", state="proposed", mode="propose", profile="lab",
        guardrails=RAILS, add_change=proposed, idempotency_key="e2", notice_ns=first.first_ns, created_at=now,
    )  # fmt: skip
    values = {"member": waiting.member, "guard": guard.name}
    text = "proposed: %(member)s into %(guard)s; a person decides"
    EnforcementEvent.objects.create(enforcement=waiting, at=now, state="proposed", message=text, data=values)
    Enforcement.objects.create(
        guard=None, verdict=first, realm=core.realm, member="172.16.9.9/32", state="observed", mode="observe",
        profile="production", guardrails=RAILS, idempotency_key="e3", created_at=now,
    )  # fmt: skip
    return guard, proposed, confirmed, first, active
