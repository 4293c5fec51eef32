"""All URLs; the composition root knows every door."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.i18n import set_language

from flowguard.api.urls import urlpatterns as flowguard_api
from flowguard.console.urls import urlpatterns as flowguard_pages
from policyhub.api.urls import docs as api_docs
from policyhub.api.urls import urlpatterns as policyhub_api
from policyhub.conf import health
from policyhub.console.urls import urlpatterns as policyhub_pages

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("admin/", admin.site.urls),
    path("language/", set_language, name="set_language"),
    path("api/v1/", include([*policyhub_api, *flowguard_api])),
    path("api/", include(api_docs)),
    path("", include(([*policyhub_pages, *flowguard_pages], "console"), namespace="console")),
]

handler400 = "policyhub.console.views.system.bad_request"
handler403 = "policyhub.console.views.system.forbidden"
handler404 = "policyhub.console.views.system.not_found"
handler500 = "policyhub.console.views.system.broken"
