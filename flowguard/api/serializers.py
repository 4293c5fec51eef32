"""How rows of the traffic side look on the wire. Fields are named one by one."""

from __future__ import annotations

from rest_framework import serializers

from flowguard.models import (
    Enforcement,
    EnforcementEvent,
    Guard,
    IdentityEntry,
    NeverTouch,
    ObservationPoint,
    Sensor,
    SensorShape,
    StreamGap,
    Verdict,
)
from flowguard.queries.own_guards import rewriters
from policyhub.api.words import Words
from policyhub.queries.words import said


class VerdictListSerializer(serializers.ModelSerializer[Verdict]):
    """As in `policyhub.flows/1`, with what the service made of it. uid: the engine's id."""

    sensor = serializers.CharField(source="sensor.name")

    class Meta:
        model = Verdict
        fields = (
            "id", "uid", "sensor", "point", "realm", "name", "src",
            "dst", "proto", "server_port", "dscp", "packets", "bytes", "first_ns",
            "last_ns", "revision", "severity", "confidence", "signals", "standing", "identity_name", "business", "received_at",
        )  # fmt: skip


class VerdictSerializer(VerdictListSerializer):
    """rewritten_by: the enforcement whose guard changed the mark, where the standing is `own`."""

    rewritten_by = serializers.SerializerMethodField()

    class Meta(VerdictListSerializer.Meta):
        fields = (*VerdictListSerializer.Meta.fields, "rewritten_by", "evidence")  # type: ignore[assignment]

    def get_rewritten_by(self, row: Verdict) -> int | None:
        by = rewriters([row]).get(row.pk) if row.standing == Verdict.Standing.OWN else None
        return by.pk if by else None


class IdentitySerializer(serializers.ModelSerializer[IdentityEntry]):
    """allowed_dscp null = anything."""

    realm = serializers.CharField(source="realm.name")

    class Meta:
        model = IdentityEntry
        fields = ("id", "realm", "prefix", "name", "business", "owner", "core", "allowed_dscp", "active_window", "peak_mbps")


class NeverTouchSerializer(serializers.ModelSerializer[NeverTouch]):
    realm = serializers.CharField(source="realm.name")

    class Meta:
        model = NeverTouch
        fields = ("id", "realm", "prefix", "reason")


class PointSerializer(serializers.ModelSerializer[ObservationPoint]):
    sensor = serializers.CharField(source="sensor.name")
    realm = serializers.CharField(source="realm.name")
    device = serializers.CharField(source="device.name", allow_null=True, default=None)
    stands_behind = serializers.CharField(source="stands_behind.name", allow_null=True, default=None)

    class Meta:
        model = ObservationPoint
        fields = ("id", "sensor", "name", "realm", "interface", "device", "stands_behind")


class SensorSerializer(serializers.ModelSerializer[Sensor]):
    group = serializers.CharField(source="group.name", allow_null=True, default=None)

    class Meta:
        model = Sensor
        fields = ("id", "name", "group", "last_seen_at", "judging", "bundle_version", "health", "spooled", "spooled_s")


class ShapeSerializer(serializers.ModelSerializer[SensorShape]):
    """What the sensor told last of neighbours, tunnels and bulk (docs/traffic-shape.md).

    stream, sequence: which batch told it. from_ns, to_ns, behaviour: null until the first minute of packets is over.
    """

    sensor = serializers.CharField(source="sensor.name")
    stream = serializers.UUIDField(source="stream.stream")
    at_ns = serializers.IntegerField(source="told.at_ns")
    from_ns = serializers.IntegerField(source="told.from_ns", allow_null=True)
    to_ns = serializers.IntegerField(source="told.to_ns", allow_null=True)
    points = serializers.ListField(source="told.points", child=serializers.DictField())
    behaviour = serializers.DictField(source="told.behaviour", allow_null=True)

    class Meta:
        model = SensorShape
        fields = ("sensor", "stream", "sequence", "received_at", "at_ns", "from_ns", "to_ns", "points", "behaviour")


class GapSerializer(serializers.ModelSerializer[StreamGap]):
    sensor = serializers.CharField(source="sensor.name")

    class Meta:
        model = StreamGap
        fields = ("id", "sensor", "stream", "from_sequence", "to_sequence", "verdicts", "reason", "noticed_at")


class GuardSerializer(serializers.ModelSerializer[Guard]):
    device = serializers.CharField(source="device.name")
    members = serializers.IntegerField()

    class Meta:
        model = Guard
        fields = ("id", "device", "name", "spec", "state", "install_change", "remove_change", "created_at", "members")


class EventSerializer(serializers.ModelSerializer[EnforcementEvent]):
    message = Words(lambda row: said(row.message, row.data))

    class Meta:
        model = EnforcementEvent
        fields = ("at", "state", "message", "data")


class EnforcementListSerializer(serializers.ModelSerializer[Enforcement]):
    guard = serializers.CharField(source="guard.name", allow_null=True, default=None)
    device = serializers.CharField(source="guard.device.name", allow_null=True, default=None)
    requested_by = serializers.CharField(source="requested_by.username", allow_null=True, default=None)

    class Meta:
        model = Enforcement
        fields = (
            "id", "guard", "device", "verdict", "member", "state",
            "outcome", "mode", "profile", "requested_by", "add_change", "remove_change", "notice_ns",
            "created_at", "active_at", "expires_at", "ended_at",
        )  # fmt: skip


class EnforcementSerializer(EnforcementListSerializer):
    events = EventSerializer(many=True)

    class Meta(EnforcementListSerializer.Meta):
        fields = (*EnforcementListSerializer.Meta.fields, "guardrails", "before", "after", "events")  # type: ignore[assignment]
