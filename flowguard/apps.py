"""Django's handle on the traffic side."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FlowGuardConfig(AppConfig):
    name = "flowguard"
    verbose_name = _("Traffic")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from flowguard.console import entries

        entries.register()
