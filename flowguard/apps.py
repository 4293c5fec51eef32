"""Django's handle on the traffic side."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FlowGuardConfig(AppConfig):
    name = "flowguard"
    verbose_name = _("Traffic")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from flowguard.console import labels
        from flowguard.models import Verdict
        from policyhub.console import registry
        from policyhub.queries.words import WORDS

        WORDS.update({name: title for name, (title, _why) in (*labels.VERDICTS.items(), *labels.OUTCOMES.items())})
        WORDS.update(dict(Verdict.Standing.choices))
        registry.fill(_console)


def _console() -> None:
    from flowguard.console import entries

    entries.register()
