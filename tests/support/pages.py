"""Addresses of every page of the console, filled with the sample's rows."""

from __future__ import annotations

from tests.support.sample_rows import Sample


def pages(rows: Sample) -> dict[str, str]:
    """URL name -> address, for every page that answers GET with HTML to somebody who is logged in."""
    return {
        "home": "/",
        "search": "/search/?q=10.10.8.101",
        "findings": "/findings/",
        "findings-detail": f"/findings/{rows.finding.pk}/",
        "devices": "/devices/",
        "devices-groups": "/devices/groups/",
        "devices-detail": f"/devices/{rows.device.pk}/",
        "devices-rules": f"/devices/{rows.device.pk}/rules/",
        "devices-snapshot": f"/devices/snapshots/{rows.snapshot.pk}/",
        "devices-counters": f"/devices/{rows.device.pk}/counters/",
        "devices-import": "/devices/import/",
        "devices-diff": f"/devices/{rows.device.pk}/diff/",
        "devices-preflights": "/devices/preflights/",
        "devices-preflights-detail": f"/devices/preflights/{rows.preflight.pk}/",
        "changes": "/changes/",
        "changes-detail": f"/changes/{rows.confirmed.pk}/",
        "audit": "/audit/",
        "killswitch": "/kill-switch/",
        "about": "/about/",
        "traffic": "/traffic/",
        "traffic-detail": f"/traffic/{rows.verdict.pk}/",
        "identities": "/identities/",
        "identities-upload": "/identities/upload/",
        "guards": "/guards/",
        "guards-propose": f"/devices/{rows.device.pk}/guard/",
        "guards-detail": f"/guards/{rows.guard.pk}/",
        "enforcements": "/enforcements/",
        "enforcements-detail": f"/enforcements/{rows.enforcement.pk}/",
        "sensors": "/sensors/",
        "sensors-detail": f"/sensors/{rows.verdict.sensor_id}/",
    }


NOT_PAGES = {
    "login",
    "logout",
    "theme",
    "realm",
    "events",
    "findings-acknowledge",
    "devices-trust",
    "devices-revoke",
    "devices-release",
    "devices-mode",
    "devices-login",
    "devices-preflights-start",
    "devices-preflights-cancel",
    "changes-approve",
    "changes-revert",
    "changes-cancel",
    "audit-verify",
    "killswitch-throw",
    "enforcements-withdraw",
}
