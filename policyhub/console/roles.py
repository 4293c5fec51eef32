"""Groups that every installation starts with: who may look, who may work, who may approve. Made once, never reset."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.apps import apps as installed
from django.db.models.signals import post_migrate

VIEWER, OPERATOR, APPROVER = "Viewers", "Operators", "Approvers"
SECRETIVE = {"view_configsnapshot", "view_auditentry", "view_apitoken", "view_credential"}
WORK = {
    "change_finding",
    "change_device",
    "change_hostkey",
    "change_change",
    "push_change",
    "change_killswitch",
    "change_enforcement",
    "change_identityentry",
    "add_identityentry",
    "delete_identityentry",
    "view_configsnapshot",
    "add_guard",
    "change_guard",
}
DECIDE = {"approve_change", "change_killswitch", "change_devicegroup", "view_configsnapshot", "view_auditentry"}


def connect(app: AppConfig) -> None:
    post_migrate.connect(make_roles, dispatch_uid="policyhub.console.roles")


def make_roles(sender: AppConfig, **kwargs: Any) -> None:
    """After the tables of both apps: a group that exists already belongs to the administrator and is left alone."""
    if sender.name not in ("policyhub", "flowguard"):
        return
    from django.contrib.auth.management import create_permissions

    create_permissions(sender, verbosity=0)  # our receiver comes before Django's own, which makes them
    group_model, permission_model = installed.get_model("auth", "Group"), installed.get_model("auth", "Permission")
    ours = permission_model.objects.filter(content_type__app_label=sender.label)
    views = set(ours.filter(codename__startswith="view_").values_list("codename", flat=True)) - SECRETIVE
    for name, extra in ((VIEWER, set[str]()), (OPERATOR, WORK), (APPROVER, DECIDE)):
        group, _ = group_model.objects.get_or_create(name=name)
        if not group.permissions.filter(content_type__app_label=sender.label).exists():
            group.permissions.add(*ours.filter(codename__in=views | extra))
