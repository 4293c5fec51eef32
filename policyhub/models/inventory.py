"""Devices, where their addresses are unique, how to reach them and what they looked like."""

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from policyhub.domain.errors import BadInput
from policyhub.domain.hosts import check_host


class Realm(models.Model):
    """Where an address is unique: site, VRF or VNI. The default realm has the empty name.

    Its credentials serve the devices in it that have none of their own.
    """

    name = models.CharField(_("name"), max_length=64, unique=True, blank=True)
    collect_credential = models.ForeignKey("Credential", models.PROTECT, null=True, blank=True, related_name="+")
    push_credential = models.ForeignKey("Credential", models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        verbose_name = _("realm")
        verbose_name_plural = _("realms")

    def __str__(self) -> str:
        return self.name or "default"


class DeviceGroup(models.Model):
    """Devices under one enforcement mode. Observe is the default; auto is opt-in per group."""

    class Mode(models.TextChoices):
        OBSERVE = "observe", _("observe")
        PROPOSE = "propose", _("propose")
        AUTO = "auto", _("automatic")

    class Profile(models.TextChoices):
        LAB = "lab", _("lab")
        PRODUCTION = "production", _("production")

    name = models.CharField(_("name"), max_length=64, unique=True)
    mode = models.CharField(_("mode"), max_length=8, choices=Mode.choices, default=Mode.OBSERVE)
    profile = models.CharField(_("profile"), max_length=16, choices=Profile.choices, default=Profile.PRODUCTION)
    target_dscp = models.PositiveSmallIntegerField(_("target DSCP"), default=0)
    enforcement_ttl_s = models.PositiveIntegerField(_("enforcement time to live (s)"), default=8 * 3600)
    is_sample = models.BooleanField(_("sample network"), default=False)

    class Meta:
        verbose_name = _("device group")
        verbose_name_plural = _("device groups")

    def __str__(self) -> str:
        return self.name


class Credential(models.Model):
    """Login for devices. Secrets are envelopes (policyhub.actions.secrets), never plain."""

    class Purpose(models.TextChoices):
        COLLECT = "collect", _("collect")
        PUSH = "push", _("push")

    name = models.CharField(_("name"), max_length=64, unique=True)
    username = models.CharField(_("user name"), max_length=64)
    purpose = models.CharField(_("purpose"), max_length=8, choices=Purpose.choices)
    password_envelope = models.TextField(blank=True, editable=False)
    private_key_envelope = models.TextField(blank=True, editable=False)
    enable_envelope = models.TextField(blank=True, editable=False)

    class Meta:
        verbose_name = _("credential")
        verbose_name_plural = _("credentials")

    def __str__(self) -> str:
        return self.name


class Device(models.Model):
    """platform: DETECT until a session has read what it is. version, managed_by: as its configuration last said.

    bastion: through which it is reached. ssh_profile OLD: it may use algorithms of the past, because somebody said so.
    checked_at: when a sweep last ran the checks on its configuration; None = nobody knows what is wrong with it.
    collect_due_at: it said that its configuration changed, and is to be read then.
    """

    DETECT = "detect"

    class Role(models.TextChoices):
        ACCESS = "access", _("access")
        CORE = "core", _("core")
        FIREWALL = "firewall", _("firewall")
        ROUTER = "router", _("router")
        BASTION = "bastion", _("bastion")

    class SshProfile(models.TextChoices):
        MODERN = "modern", _("modern algorithms")
        OLD = "old", _("old algorithms allowed")

    name = models.CharField(_("name"), max_length=128, unique=True)
    realm = models.ForeignKey(Realm, models.PROTECT, related_name="devices", verbose_name=_("realm"))
    group = models.ForeignKey(DeviceGroup, models.PROTECT, related_name="devices", verbose_name=_("group"))
    platform = models.CharField(_("platform"), max_length=32)
    role = models.CharField(_("role"), max_length=16, choices=Role.choices, default=Role.ACCESS)
    host = models.CharField(_("host"), max_length=255, blank=True)
    port = models.PositiveIntegerField(_("port"), default=22)
    collect_credential = models.ForeignKey(Credential, models.PROTECT, null=True, blank=True, related_name="+")
    push_credential = models.ForeignKey(Credential, models.PROTECT, null=True, blank=True, related_name="+")
    bastion = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("bastion"))
    ssh_profile = models.CharField(_("SSH profile"), max_length=8, choices=SshProfile.choices, default=SshProfile.MODERN)
    version = models.CharField(_("version"), max_length=64, blank=True, editable=False)
    managed_by = models.CharField(_("managed by"), max_length=64, blank=True, editable=False)
    enabled = models.BooleanField(_("enabled"), default=True)
    quarantine_reason = models.CharField(_("quarantine"), max_length=255, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    checked_at = models.DateTimeField(null=True, blank=True, editable=False)
    collect_due_at = models.DateTimeField(null=True, blank=True, editable=False, db_index=True)

    class Meta:
        ordering = ("name",)
        verbose_name = _("device")
        verbose_name_plural = _("devices")

    def clean(self) -> None:
        try:
            self.host = check_host(self.host)
        except BadInput:
            said = _("This is neither an address nor a host name. The port is a field of its own.")
            raise ValidationError({"host": said}) from None
        if not 1 <= (self.port or 0) <= 65535:
            raise ValidationError({"port": _("A port is a number from 1 to 65535.")})

    def __str__(self) -> str:
        return self.name


class HostKey(models.Model):
    """A device's SSH host key. Only a trusted one opens a session; a changed one blocks and raises a finding."""

    class State(models.TextChoices):
        PENDING = "pending", _("pending")
        TRUSTED = "trusted", _("trusted")
        REVOKED = "revoked", _("revoked")

    device = models.ForeignKey(Device, models.CASCADE, related_name="host_keys")
    algorithm = models.CharField(max_length=64)
    public_key = models.TextField()
    fingerprint = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    first_seen_at = models.DateTimeField()
    decided_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["device", "fingerprint"], name="host_key_once_per_device")]
        verbose_name = _("host key")
        verbose_name_plural = _("host keys")

    def __str__(self) -> str:
        return f"{self.algorithm} {self.fingerprint}"


class ConfigSnapshot(models.Model):
    """A configuration as read, encrypted; ordered by taken_at. Equal texts are not stored twice in a row."""

    device = models.ForeignKey(Device, models.CASCADE, related_name="snapshots")
    taken_at = models.DateTimeField()
    taken_by = models.CharField(max_length=150)
    source = models.CharField(max_length=16, default="collect")
    sha256 = models.CharField(max_length=64)
    text_envelope = models.TextField(editable=False)
    counters_envelope = models.TextField(blank=True, editable=False)
    version = models.CharField(max_length=64, blank=True)
    lines = models.PositiveIntegerField()
    rules = models.PositiveIntegerField(default=0)
    unparsed = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-taken_at", "-pk")
        indexes = [models.Index(fields=["device", "-taken_at"])]
        verbose_name = _("configuration snapshot")
        verbose_name_plural = _("configuration snapshots")

    def __str__(self) -> str:
        return f"{self.device} {self.taken_at:%Y-%m-%d %H:%M}"
