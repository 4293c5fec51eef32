"""How rows look on the wire. Fields are named one by one: a new column is not published by accident, an envelope never."""

from __future__ import annotations

from rest_framework import serializers

from policyhub.api.words import Words
from policyhub.domain.counter_series import CounterSeries
from policyhub.models import (
    Approval,
    AuditEntry,
    Change,
    ChangeEvent,
    ConfigSnapshot,
    CounterReading,
    Device,
    DeviceGroup,
    Finding,
    HostKey,
    KillSwitch,
    Realm,
    Sweep,
)
from policyhub.queries.words import kept


class RealmSerializer(serializers.ModelSerializer[Realm]):
    class Meta:
        model = Realm
        fields = ("id", "name")


class DeviceGroupSerializer(serializers.ModelSerializer[DeviceGroup]):
    class Meta:
        model = DeviceGroup
        fields = ("id", "name", "mode", "profile", "target_dscp", "enforcement_ttl_s", "is_sample")


class DeviceSerializer(serializers.ModelSerializer[Device]):
    """rule_count, unparsed_count, taken_at: of the latest configuration; null when none was read.

    checked_at: when a sweep last looked; null = `open_findings` 0 says nothing.
    """

    realm = serializers.CharField(source="realm.name")
    group = serializers.CharField(source="group.name")
    taken_at = serializers.DateTimeField(allow_null=True)
    rule_count = serializers.IntegerField(allow_null=True)
    unparsed_count = serializers.IntegerField(allow_null=True)
    open_findings = serializers.IntegerField()
    quarantine_reason = Words(lambda row: kept(None, row.quarantine_reason))

    class Meta:
        model = Device
        fields = (
            "id", "name", "realm", "group", "platform", "role", "host", "port", "enabled", "quarantine_reason", "created_at",
            "version", "managed_by", "ssh_profile", "taken_at", "rule_count", "unparsed_count", "checked_at", "open_findings",
        )  # fmt: skip


class HostKeySerializer(serializers.ModelSerializer[HostKey]):
    device = serializers.CharField(source="device.name")

    class Meta:
        model = HostKey
        fields = ("id", "device", "algorithm", "fingerprint", "state", "first_seen_at", "decided_by", "decided_at")


class SnapshotSerializer(serializers.ModelSerializer[ConfigSnapshot]):
    """What is known about a configuration; its text stays in the console."""

    device = serializers.CharField(source="device.name")

    class Meta:
        model = ConfigSnapshot
        fields = ("id", "device", "taken_at", "taken_by", "source", "sha256", "lines", "rules", "unparsed")


class CounterSerializer(serializers.Serializer[CounterSeries]):
    """One number; `value` null = the device printed none, never 0."""

    interface = serializers.CharField()
    queue = serializers.CharField()
    name = serializers.CharField()
    unit = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # a field of that name, which the metaclass takes away
    value = serializers.FloatField(allow_null=True)


class CounterReadingListSerializer(serializers.ModelSerializer[CounterReading]):
    """unread: lines with figures that nobody understood."""

    device = serializers.CharField(source="device.name")

    class Meta:
        model = CounterReading
        fields: tuple[str, ...] = ("id", "device", "read_at", "origin", "count", "unread")


class CounterReadingSerializer(CounterReadingListSerializer):
    counters = CounterSerializer(source="rows", many=True)

    class Meta(CounterReadingListSerializer.Meta):
        fields = (*CounterReadingListSerializer.Meta.fields, "counters")


class FindingSerializer(serializers.ModelSerializer[Finding]):
    device = serializers.CharField(source="device.name")
    message = Words(lambda row: kept((row.said or {}).get("message"), row.message))
    fix = Words(lambda row: kept((row.said or {}).get("fix"), row.fix))

    class Meta:
        model = Finding
        fields = (
            "id", "fingerprint", "code", "name", "severity", "device",
            "policy", "rule", "lines", "by", "message", "evidence", "fix",
            "status", "first_seen_at", "last_seen_at",
        )  # fmt: skip


class SweepSerializer(serializers.ModelSerializer[Sweep]):
    class Meta:
        model = Sweep
        fields = (
            "id", "started_at", "finished_at", "started_by", "state", "devices_total", "devices_done", "now_doing", "problems",
        )  # fmt: skip


class ChangeEventSerializer(serializers.ModelSerializer[ChangeEvent]):
    message = Words(lambda row: kept(row.data.get("said"), row.message))

    class Meta:
        model = ChangeEvent
        fields = ("at", "state", "message", "data")


class ApprovalSerializer(serializers.ModelSerializer[Approval]):
    approver = serializers.CharField(source="approver.username")

    class Meta:
        model = Approval
        fields = ("approver", "plan_sha256", "at")


class ChangeListSerializer(serializers.ModelSerializer[Change]):
    device = serializers.CharField(source="device.name")
    reason = Words(lambda row: kept(row.reason_said, row.reason))
    requested_by = serializers.CharField(source="requested_by.username", allow_null=True, default=None)

    class Meta:
        model = Change
        fields = (
            "id", "device", "kind", "state", "push_outcome", "spec", "plan_sha256", "reason", "actor", "requested_by", "error",
            "created_at", "pushed_at", "finished_at",
        )  # fmt: skip


class ChangeSerializer(ChangeListSerializer):
    events = ChangeEventSerializer(many=True)
    approvals = ApprovalSerializer(many=True)

    class Meta(ChangeListSerializer.Meta):
        fields = (
            *ChangeListSerializer.Meta.fields, "lines", "inverse", "before_section", "after_section", "ttl_s", "confirm_by",
            "guardrails", "events", "approvals",
        )  # type: ignore[assignment]  # fmt: skip


class AuditEntrySerializer(serializers.ModelSerializer[AuditEntry]):
    class Meta:
        model = AuditEntry
        fields = ("sequence", "at", "actor", "action", "data", "previous_hash", "hash")


class KillSwitchSerializer(serializers.ModelSerializer[KillSwitch]):
    class Meta:
        model = KillSwitch
        fields = ("scope", "engaged", "changed_by", "changed_at", "reason")


class ApproveRequest(serializers.Serializer[object]):
    """plan_sha256: of the plan as it was read."""

    plan_sha256 = serializers.RegexField(r"^[0-9a-f]{64}$")


class ReasonRequest(serializers.Serializer[object]):
    reason = serializers.CharField(max_length=500)


class KillSwitchRequest(serializers.Serializer[object]):
    """scope: a device group's name, or "" for everything."""

    scope = serializers.CharField(max_length=64, allow_blank=True, default="")
    engaged = serializers.BooleanField()
    reason = serializers.CharField(max_length=500)


class Problem(serializers.Serializer[object]):
    """Every error of the API."""

    code = serializers.CharField()
    message = serializers.CharField()
    data = serializers.JSONField()  # type: ignore[assignment]
