"""The identity ledger: who a prefix is and what it may use."""

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from policyhub.domain.errors import BadInput
from policyhub.domain.identity import check_fields
from policyhub.models import Realm


class IdentityEntry(models.Model):
    """A row of policyhub.domain.identity.Identity. allowed_dscp null = anything."""

    realm = models.ForeignKey(Realm, models.PROTECT, related_name="identities")
    prefix = models.CharField(_("prefix"), max_length=49)
    name = models.CharField(_("name"), max_length=128)
    business = models.CharField(_("business"), max_length=255, blank=True)
    owner = models.CharField(_("owner"), max_length=128, blank=True)
    core = models.BooleanField(_("core"), default=False)
    allowed_dscp = models.JSONField(_("allowed DSCP"), null=True, blank=True)
    active_window = models.CharField(_("active window"), max_length=64, blank=True)
    peak_mbps = models.FloatField(_("peak (Mbit/s)"), null=True, blank=True)

    class Meta:
        ordering = ("realm__name", "prefix")
        constraints = [models.UniqueConstraint(fields=["realm", "prefix"], name="identity_once_per_realm")]
        verbose_name = _("identity")
        verbose_name_plural = _("identities")

    def clean(self) -> None:
        """One entry that cannot be read would stop every bundle and every batch."""
        try:
            check_fields(self.prefix, self.allowed_dscp, self.active_window, self.peak_mbps)
        except BadInput as error:
            raise ValidationError(error.said.read(gettext)) from None

    def __str__(self) -> str:
        return f"{self.name} {self.prefix}"
