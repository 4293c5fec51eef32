"""Django's handle on the policy side."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PolicyHubConfig(AppConfig):
    name = "policyhub"
    verbose_name = _("Policy")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from policyhub.console import registry, roles

        registry.fill(_console)
        roles.connect(self)


def _console() -> None:
    from policyhub.console import entries

    entries.register()
