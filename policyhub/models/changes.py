"""Changes of devices: the plan as approved, its state, its timeline, and who may hold a device."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from policyhub.models.inventory import Device


class Change(models.Model):
    """One intended edit of one device. The state machine is policyhub.domain.change_states; only actions.changes moves it.

    spec: GuardSpec fields and, for members, `member`. lines/inverse/reads: as rendered; plan_sha256 binds approval to them.
    fencing: token of the lease that last touched the device for this change; a worker with a lower one must stop.
    confirm_by: "config" confirms once the configuration reads back as planned; "packets" waits for `actions.changes.confirm`.
    reason: in English, for search and commands. reason_said: as domain.message stores it; {} for a person's words.
    requested_by: the user who proposed it, and who therefore cannot approve it; null only for members that a policy asks for.
    actor: that user or policy by name; at a command line with the login of the machine: `alice (cli:root)`.
    notify_task/notify_id: Celery task name and id dispatched on every state where somebody else has the next move.
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        REFUSED = "refused", _("refused")
        PROPOSED = "proposed", _("proposed")
        APPROVED = "approved", _("approved")
        PREFLIGHT = "preflight", _("preflight")
        ARMED = "armed", _("armed")
        PUSHING = "pushing", _("pushing")
        PUSHED = "pushed", _("pushed")
        VERIFIED = "verified", _("verified by configuration")
        CONFIRMED = "confirmed", _("confirmed")
        REVERTING = "reverting", _("reverting")
        REVERTED = "reverted", _("reverted")
        FAILED = "failed", _("failed, nothing applied")
        REVERT_FAILED = "revert-failed", _("revert failed: a person is needed")
        CANCELLED = "cancelled", _("cancelled")

    device = models.ForeignKey(Device, models.PROTECT, related_name="changes")
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=16, choices=State.choices, default=State.DRAFT)
    push_outcome = models.CharField(max_length=12, blank=True)
    spec = models.JSONField()
    lines = models.JSONField(default=list)
    inverse = models.JSONField(default=list)
    reads = models.JSONField(default=list)
    plan_sha256 = models.CharField(max_length=64, blank=True)
    before_section = models.TextField(blank=True)
    after_section = models.TextField(blank=True)
    before_foreign_sha256 = models.CharField(max_length=64, blank=True)
    ttl_s = models.PositiveIntegerField(default=120)
    confirm_by = models.CharField(max_length=8, default="config")
    notify_task = models.CharField(max_length=64, blank=True)
    notify_id = models.BigIntegerField(null=True, blank=True)
    reason = models.TextField(blank=True)
    reason_said = models.JSONField(default=dict, blank=True)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+")
    actor = models.CharField(max_length=150)
    idempotency_key = models.CharField(max_length=64, unique=True)
    guardrails = models.JSONField(default=list)
    fencing = models.BigIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    transcript_envelope = models.TextField(blank=True, editable=False)
    created_at = models.DateTimeField()
    pushed_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    next_step_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        ordering = ("-pk",)
        verbose_name = _("change")
        verbose_name_plural = _("changes")
        permissions = [("approve_change", "Can approve a change"), ("push_change", "Can push a change")]

    def __str__(self) -> str:
        return f"#{self.pk} {self.kind} {self.device}"


class ChangeEvent(models.Model):
    """The timeline: one row per transition, written in the transition's own transaction."""

    change = models.ForeignKey(Change, models.CASCADE, related_name="events")
    at = models.DateTimeField()
    state = models.CharField(max_length=16)
    message = models.TextField()
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ("pk",)
        verbose_name = _("change event")
        verbose_name_plural = _("change events")


class Approval(models.Model):
    """Exactly the plan that was read; void when the plan is rendered anew."""

    change = models.ForeignKey(Change, models.CASCADE, related_name="approvals")
    approver = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    plan_sha256 = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["change", "approver", "plan_sha256"], name="approve_once")]
        verbose_name = _("approval")
        verbose_name_plural = _("approvals")


class DeviceLease(models.Model):
    """One writer per device. The token only rises; whoever holds a lower one is fenced off."""

    device = models.OneToOneField(Device, models.CASCADE, related_name="lease")
    holder = models.CharField(max_length=150, blank=True)
    token = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("device lease")
        verbose_name_plural = _("device leases")


class KillSwitch(models.Model):
    """Stops new pushes. scope "" is everything, else a device group's name. A local file does the same without the database."""

    scope = models.CharField(max_length=64, unique=True, blank=True)
    engaged = models.BooleanField(default=False)
    changed_by = models.CharField(max_length=150, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        verbose_name = _("kill switch")
        verbose_name_plural = _("kill switches")
