"""Every table of the policy side for superusers. What the service writes by itself is read-only; secrets go in, never out."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from policyhub.actions import audit
from policyhub.actions.secrets import seal
from policyhub.admin_columns import translate_columns
from policyhub.models import (
    ApiToken,
    Approval,
    AuditEntry,
    Change,
    ChangeEvent,
    ConfigSnapshot,
    CounterReading,
    Credential,
    Device,
    DeviceGroup,
    DeviceLease,
    Exemption,
    Finding,
    HostKey,
    KillSwitch,
    Preflight,
    PreflightResult,
    Realm,
    Schedule,
    Sweep,
)  # fmt: skip

SECRET_FIELDS = ("password", "private_key", "enable")


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that only the service writes. `hidden`: columns that are shown to nobody (envelopes, digests)."""

    hidden: tuple[str, ...] = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return self.hidden


class AuditedAdmin(admin.ModelAdmin):
    """Rows that people keep here; each edit is also a row of the audit chain."""

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        self._record(request, obj, "changed" if change else "added", fields=sorted(form.changed_data))

    def delete_model(self, request: HttpRequest, obj: models.Model) -> None:
        key = obj.pk
        super().delete_model(request, obj)
        self._record(request, obj, "removed", row=key)

    def delete_queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    def _record(self, request: HttpRequest, obj: models.Model, verb: str, **data: object) -> None:
        data = {"row": obj.pk, **data, "what": str(obj)[:200]}
        audit.record(f"admin.{obj._meta.model_name}.{verb}", actor=request.user, at=timezone.now(), **data)


class CredentialForm(forms.ModelForm):
    """Secrets are written, never read back: an empty field keeps what is stored."""

    password = forms.CharField(
        label=_("New password"), required=False, strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )
    private_key = forms.CharField(
        label=_("New private key"), required=False, widget=forms.Textarea(attrs={"autocomplete": "off"})
    )
    enable = forms.CharField(
        label=_("New enable password"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    class Meta:
        model = Credential
        fields = ("name", "username", "purpose")

    def save(self, commit: bool = True) -> Any:
        for name in SECRET_FIELDS:
            if self.cleaned_data.get(name):
                setattr(self.instance, f"{name}_envelope", seal(self.cleaned_data[name]))
        return super().save(commit)


@admin.register(Credential)
class CredentialAdmin(AuditedAdmin):
    form = CredentialForm
    list_display = ("name", "username", "purpose", "has_password", "has_key")

    @admin.display(description=_("password"), boolean=True)
    def has_password(self, row: Credential) -> bool:
        return bool(row.password_envelope)

    @admin.display(description=_("private key"), boolean=True)
    def has_key(self, row: Credential) -> bool:
        return bool(row.private_key_envelope)


@admin.register(Realm)
class RealmAdmin(AuditedAdmin):
    list_display = ("__str__",)


@admin.register(DeviceGroup)
class DeviceGroupAdmin(AuditedAdmin):
    list_display = ("name", "mode", "profile", "target_dscp", "enforcement_ttl_s", "is_sample")


@admin.register(Device)
class DeviceAdmin(AuditedAdmin):
    list_display = ("name", "platform", "role", "group", "realm", "host", "enabled", "quarantine_reason")
    list_filter = ("group", "platform", "role", "enabled")
    list_select_related = ("group", "realm")
    search_fields = ("name", "host")


@admin.register(Schedule)
class ScheduleAdmin(AuditedAdmin):
    list_display = ("name", "task", "every_s", "enabled", "next_due_at", "last_run_at")
    readonly_fields = ("last_run_at",)


@admin.register(Exemption)
class ExemptionAdmin(AuditedAdmin):
    list_display = ("finding", "owner", "granted_at", "expires_at")
    list_select_related = ("finding",)
    raw_id_fields = ("finding",)


@admin.register(Finding)
class FindingAdmin(ReadOnlyAdmin):
    list_display = ("code", "name", "severity", "device", "policy", "rule", "status", "last_seen_at")
    list_filter = ("severity", "status", "name")
    list_select_related = ("device",)


@admin.register(Sweep)
class SweepAdmin(ReadOnlyAdmin):
    list_display = ("pk", "state", "started_at", "finished_at", "devices_done", "devices_total")


@admin.register(HostKey)
class HostKeyAdmin(ReadOnlyAdmin):
    list_display = ("device", "algorithm", "fingerprint", "state", "first_seen_at", "decided_by")
    list_select_related = ("device",)


@admin.register(ConfigSnapshot)
class ConfigSnapshotAdmin(ReadOnlyAdmin):
    hidden = ("text_envelope", "counters_envelope")
    list_display = ("device", "taken_at", "taken_by", "lines", "rules", "unparsed")
    list_select_related = ("device",)


@admin.register(CounterReading)
class CounterReadingAdmin(ReadOnlyAdmin):
    hidden = ("packed",)
    list_display = ("device", "read_at", "origin", "count", "unread")
    list_filter = ("origin",)
    list_select_related = ("device",)


@admin.register(Preflight)
class PreflightAdmin(ReadOnlyAdmin):
    list_display = ("pk", "state", "started_at", "started_by", "finished_at")


@admin.register(PreflightResult)
class PreflightResultAdmin(ReadOnlyAdmin):
    list_display = ("preflight", "device", "state", "platform", "version", "collected")
    list_filter = ("state",)
    list_select_related = ("preflight", "device")


@admin.register(Change)
class ChangeAdmin(ReadOnlyAdmin):
    hidden = ("transcript_envelope",)
    list_display = ("pk", "device", "kind", "state", "push_outcome", "created_at")
    list_filter = ("state", "kind")
    list_select_related = ("device",)


@admin.register(ChangeEvent)
class ChangeEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "change", "state", "message")
    list_select_related = ("change__device",)


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin):
    list_display = ("change", "approver", "at")
    list_select_related = ("change__device", "approver")


@admin.register(DeviceLease)
class DeviceLeaseAdmin(ReadOnlyAdmin):
    list_display = ("device", "holder", "token", "expires_at")
    list_select_related = ("device",)


@admin.register(KillSwitch)
class KillSwitchAdmin(ReadOnlyAdmin):
    """Thrown on its own page, with a reason."""

    list_display = ("scope", "engaged", "changed_by", "changed_at", "reason")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Made with `policyhub token create`, which shows the text once."""

    hidden = ("digest",)
    list_display = ("name", "key", "user", "sensor", "scopes", "expires_at", "last_used_at", "revoked")
    list_select_related = ("user",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("sequence", "at", "actor", "action")
    list_filter = ("action",)
    search_fields = ("actor", "action")


translate_columns("policyhub")
