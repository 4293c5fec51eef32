"""Addresses of the traffic side below /api/v1/."""

from django.urls import URLPattern, URLResolver, path
from rest_framework.routers import SimpleRouter

from flowguard.api import views
from flowguard.api.ingest import BatchesView, BundleView

router = SimpleRouter(trailing_slash=False)
router.register("verdicts", views.VerdictView, "api-verdict")
router.register("identities", views.IdentityView, "api-identity")
router.register("never-touch", views.NeverTouchView, "api-never-touch")
router.register("sensors", views.SensorReadView, "api-sensor")
router.register("observation-points", views.PointView, "api-point")
router.register("stream-gaps", views.GapView, "api-gap")
router.register("guards", views.GuardView, "api-guard")
router.register("enforcements", views.EnforcementView, "api-enforcement")

urlpatterns: list[URLPattern | URLResolver] = [
    path("sensors/<slug:sensor>/batches", BatchesView.as_view(), name="sensor-batches"),
    path("sensors/<slug:sensor>/bundle", BundleView.as_view(), name="sensor-bundle"),
    *router.urls,
]
