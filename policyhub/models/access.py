"""API tokens: `phb_<key>.<secret>`; only an HMAC of the secret is stored."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class ApiToken(models.Model):
    """scopes: read, ingest, plan, approve, push, admin. sensor: the only sensor an ingest token may speak for."""

    name = models.CharField(max_length=64)
    key = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="api_tokens")
    sensor = models.CharField(max_length=64, blank=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")

    def __str__(self) -> str:
        return f"{self.name} ({self.key})"
