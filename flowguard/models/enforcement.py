"""Guards that humans approved, and enforcements that add or remove one member of them."""

import ipaddress

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from flowguard.models.verdicts import Verdict
from policyhub.models import Change, Device, Realm


class Guard(models.Model):
    """spec: fields of policyhub.domain.change.GuardSpec."""

    class State(models.TextChoices):
        PROPOSED = "proposed", _("proposed")
        INSTALLED = "installed", _("installed")
        BROKEN = "broken", _("not as installed")
        REMOVED = "removed", _("removed")

    device = models.ForeignKey(Device, models.PROTECT, related_name="guards")
    name = models.CharField(max_length=16)
    spec = models.JSONField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.PROPOSED)
    install_change = models.ForeignKey(Change, models.PROTECT, null=True, blank=True, related_name="+")
    remove_change = models.ForeignKey(Change, models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["device", "name"], name="guard_once_per_device")]
        verbose_name = _("guard")
        verbose_name_plural = _("guards")

    def __str__(self) -> str:
        return f"{self.device}/{self.name}"


class Enforcement(models.Model):
    """A member in a guard, from plan to expiry. guardrails: [{name, passed, reason}] as evaluated when planned.

    before/after: key figures by packets at the verifying point. notice_ns: time of the first offending packet.
    requested_by: who asked for this address; null = the policy of `mode` and `profile`, on account of a verdict.
    """

    class State(models.TextChoices):
        REFUSED = "refused", _("refused")
        OBSERVED = "observed", _("observed only")
        PROPOSED = "proposed", _("proposed")
        APPLYING = "applying", _("applying")
        ACTIVE = "active", _("active")
        WITHDRAWING = "withdrawing", _("being taken back")
        EXPIRED = "expired", _("expired and taken back")
        REVERTED = "reverted", _("taken back")
        FAILED = "failed", _("failed")
        NEEDS_PERSON = "needs-person", _("a person is needed")

    guard = models.ForeignKey(Guard, models.PROTECT, null=True, blank=True, related_name="enforcements", db_index=False)
    verdict = models.ForeignKey(Verdict, models.SET_NULL, null=True, related_name="enforcements")
    realm = models.ForeignKey(Realm, models.PROTECT, related_name="+", db_index=False)
    member = models.CharField(max_length=49)
    state = models.CharField(max_length=14, choices=State.choices)
    outcome = models.CharField(max_length=20, blank=True)
    mode = models.CharField(max_length=8)
    profile = models.CharField(max_length=16)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    guardrails = models.JSONField(default=list)
    add_change = models.ForeignKey(Change, models.PROTECT, null=True, blank=True, related_name="+")
    remove_change = models.ForeignKey(Change, models.PROTECT, null=True, blank=True, related_name="+")
    idempotency_key = models.CharField(max_length=64, unique=True)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    notice_ns = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField()
    active_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True, db_index=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    next_step_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        ordering = ("-pk",)
        # Decisions count what is open in a guard and under way in a realm, among as many refused rows as a flood has sources.
        indexes = [
            models.Index(fields=["member", "realm"]),
            models.Index(fields=["guard", "state"]),
            models.Index(fields=["realm", "state"]),
        ]
        verbose_name = _("enforcement")
        verbose_name_plural = _("enforcements")

    def __str__(self) -> str:
        return f"#{self.pk} {self.member} {self.state}"


class EnforcementEvent(models.Model):
    enforcement = models.ForeignKey(Enforcement, models.CASCADE, related_name="events")
    at = models.DateTimeField()
    state = models.CharField(max_length=14)
    message = models.TextField()
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ("pk",)
        verbose_name = _("enforcement event")
        verbose_name_plural = _("enforcement events")


class NeverTouch(models.Model):
    """Prefixes that no enforcement may name: protected owners, management, collectors, routing, RoCE."""

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="+")
    prefix = models.CharField(max_length=49)
    reason = models.CharField(max_length=255)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["realm", "prefix"], name="never_touch_once")]
        verbose_name = _("never touch")
        verbose_name_plural = _("never touch")

    def clean(self) -> None:
        try:
            self.prefix = str(ipaddress.ip_network(self.prefix.strip(), strict=False))
        except ValueError as error:
            raise ValidationError({"prefix": str(error)}) from None
