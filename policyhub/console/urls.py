"""Addresses of the console's own pages; the composition root joins them with those of flowguard in one namespace."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from policyhub.console.views import account, changes, devices, events, findings, groups, home, onboarding, search, system

urlpatterns = [
    path("", home.home, name="home"),
    path("login/", account.login, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("preferences/theme/", account.theme, name="theme"),
    path("preferences/realm/", account.realm, name="realm"),
    path("search/", search.search, name="search"),
    path("events", events.events, name="events"),
    path("findings/", findings.index, name="findings"),
    path("findings/acknowledge/", findings.acknowledge, name="findings-acknowledge"),
    path("findings/<int:pk>/", findings.detail, name="findings-detail"),
    path("devices/", devices.index, name="devices"),
    path("devices/groups/", groups.index, name="devices-groups"),
    path("devices/groups/<int:pk>/mode/", groups.set_mode, name="devices-mode"),
    path("devices/import/", onboarding.upload, name="devices-import"),
    path("devices/preflights/", onboarding.index, name="preflights"),
    path("devices/preflights/start/", onboarding.start, name="preflights-start"),
    path("devices/preflights/<int:pk>/", onboarding.detail, name="preflights-detail"),
    path("devices/preflights/<int:pk>/cancel/", onboarding.cancel, name="preflights-cancel"),
    path("devices/<int:pk>/diff/", onboarding.diff, name="devices-diff"),
    path("devices/<int:pk>/", devices.detail, name="devices-detail"),
    path("devices/<int:pk>/rules/", devices.rules, name="devices-rules"),
    path("devices/<int:pk>/release/", devices.release, name="devices-release"),
    path("devices/<int:pk>/login/", devices.give_login, name="devices-login"),
    path("devices/snapshots/<int:pk>/", devices.snapshot, name="devices-snapshot"),
    path("devices/host-keys/<int:pk>/trust/", devices.decide_key, {"decision": "trust"}, name="devices-trust"),
    path("devices/host-keys/<int:pk>/revoke/", devices.decide_key, {"decision": "revoke"}, name="devices-revoke"),
    path("changes/", changes.index, name="changes"),
    path("changes/<int:pk>/", changes.detail, name="changes-detail"),
    path("changes/<int:pk>/approve/", changes.approve, name="changes-approve"),
    path("changes/<int:pk>/revert/", changes.revert, name="changes-revert"),
    path("changes/<int:pk>/cancel/", changes.cancel, name="changes-cancel"),
    path("audit/", system.audit, name="audit"),
    path("audit/verify/", system.verify_audit, name="audit-verify"),
    path("kill-switch/", system.kill_switch, name="killswitch"),
    path("kill-switch/throw/", system.throw_kill_switch, name="killswitch-throw"),
    path("about/", system.about, name="about"),
]
