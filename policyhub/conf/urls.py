"""All URLs; the composition root knows every door."""

import logging
from importlib import import_module

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.i18n import set_language

from policyhub.conf import health


def _room(module: str, name: str = "urlpatterns") -> list[URLPattern | URLResolver]:
    """While rooms are being built, one that cannot be imported yet must not close the others."""
    try:
        return list(getattr(import_module(module), name))
    except ImportError as error:
        logging.getLogger(__name__).error("%s is left out: %s", module, error)
        return []


urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("admin/", admin.site.urls),
    path("language/", set_language, name="set_language"),
    path("api/v1/", include([*_room("policyhub.api.urls"), *_room("flowguard.api.urls")])),
    path("api/", include(_room("policyhub.api.urls", "docs"))),
    path("", include(([*_room("policyhub.console.urls"), *_room("flowguard.console.urls")], "console"), namespace="console")),
]

handler400 = "policyhub.console.views.system.bad_request"
handler403 = "policyhub.console.views.system.forbidden"
handler404 = "policyhub.console.views.system.not_found"
handler500 = "policyhub.console.views.system.broken"
