"""Every table of the traffic side for superusers. Measurements and enforcements are read-only."""

from __future__ import annotations

from django.contrib import admin

from flowguard.models import (
    Enforcement,
    EnforcementEvent,
    Guard,
    IdentityEntry,
    NeverTouch,
    Observation,
    ObservationPoint,
    Sensor,
    SensorShape,
    SensorStream,
    StreamGap,
    Verdict,
    VerdictBatch,
)  # fmt: skip
from policyhub.admin import AuditedAdmin, ReadOnlyAdmin
from policyhub.admin_columns import translate_columns


@admin.register(IdentityEntry)
class IdentityEntryAdmin(AuditedAdmin):
    list_display = ("prefix", "realm", "name", "business", "owner", "core", "allowed_dscp")
    list_filter = ("core", "realm")
    list_select_related = ("realm",)
    search_fields = ("prefix", "name", "business", "owner")


@admin.register(NeverTouch)
class NeverTouchAdmin(AuditedAdmin):
    list_display = ("prefix", "realm", "reason")
    list_select_related = ("realm",)


@admin.register(Sensor)
class SensorAdmin(AuditedAdmin):
    list_display = ("name", "group", "last_seen_at", "judging", "bundle_version")
    list_select_related = ("group",)
    readonly_fields = ("last_seen_at", "judging", "bundle_version", "health")


@admin.register(ObservationPoint)
class ObservationPointAdmin(AuditedAdmin):
    list_display = ("sensor", "name", "realm", "interface", "device", "stands_behind")
    list_select_related = ("sensor", "realm", "device", "stands_behind")


@admin.register(Guard)
class GuardAdmin(ReadOnlyAdmin):
    list_display = ("device", "name", "state", "created_at")
    list_select_related = ("device",)


@admin.register(Enforcement)
class EnforcementAdmin(ReadOnlyAdmin):
    list_display = ("pk", "member", "guard", "state", "outcome", "mode", "created_at", "expires_at")
    list_filter = ("state", "outcome")
    list_select_related = ("guard__device",)


@admin.register(EnforcementEvent)
class EnforcementEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "enforcement", "state", "message")
    list_select_related = ("enforcement",)


@admin.register(Verdict)
class VerdictAdmin(ReadOnlyAdmin):
    list_display = ("name", "severity", "src", "dst", "dscp", "packets", "standing", "received_at")
    list_filter = ("severity", "name", "standing")


@admin.register(Observation)
class ObservationAdmin(ReadOnlyAdmin):
    list_display = ("point", "start_ns", "complete")
    list_select_related = ("point__sensor",)


@admin.register(VerdictBatch)
class VerdictBatchAdmin(ReadOnlyAdmin):
    hidden = ("body",)
    list_display = ("sensor", "stream", "sequence", "state", "received_at", "ingested_at", "error")
    list_filter = ("state",)
    list_select_related = ("sensor",)


@admin.register(SensorShape)
class SensorShapeAdmin(ReadOnlyAdmin):
    list_display = ("sensor", "received_at")
    list_select_related = ("sensor",)


@admin.register(SensorStream)
class SensorStreamAdmin(ReadOnlyAdmin):
    list_display = ("sensor", "stream", "contiguous_to", "highest", "last_received_at")
    list_select_related = ("sensor",)


@admin.register(StreamGap)
class StreamGapAdmin(ReadOnlyAdmin):
    list_display = ("sensor", "from_sequence", "to_sequence", "verdicts", "reason", "noticed_at")
    list_select_related = ("sensor",)


translate_columns("flowguard")
