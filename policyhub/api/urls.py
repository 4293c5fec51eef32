"""Addresses below /api/v1/ of the policy side, and the documentation at /api/schema and /api/docs."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.authentication import SessionAuthentication
from rest_framework.permissions import IsAuthenticated
from rest_framework.routers import SimpleRouter

from policyhub.api import views
from policyhub.api.auth import TokenAuthentication

router = SimpleRouter(trailing_slash=False)
router.register("realms", views.RealmView, "api-realm")
router.register("device-groups", views.DeviceGroupView, "api-device-group")
router.register("devices", views.DeviceView, "api-device")
router.register("host-keys", views.HostKeyView, "api-host-key")
router.register("snapshots", views.SnapshotView, "api-snapshot")
router.register("counter-readings", views.CounterReadingView, "api-counter-reading")
router.register("findings", views.FindingView, "api-finding")
router.register("sweeps", views.SweepView, "api-sweep")
router.register("changes", views.ChangeView, "api-change")
router.register("audit", views.AuditView, "api-audit")
router.register("kill-switch", views.KillSwitchView, "api-kill-switch")
urlpatterns = router.urls

_GUARDED = {"authentication_classes": [TokenAuthentication, SessionAuthentication], "permission_classes": [IsAuthenticated]}
docs = [
    path("schema", SpectacularAPIView.as_view(**_GUARDED), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="schema", **_GUARDED), name="docs"),
]
