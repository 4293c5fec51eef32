"""The policy side of the API: reads for all, and the few acts that people also have in the console."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from policyhub.actions import changes, kill_switch
from policyhub.api import serializers as s
from policyhub.api.base import Base, Pages, ReadView, act_permission, number, read_permission
from policyhub.models import Change, ConfigSnapshot, CounterReading, DeviceGroup, HostKey, KillSwitch, Realm, Sweep
from policyhub.queries import findings, listings
from policyhub.queries.findings import FindingFilter
from policyhub.queries.listings import ChangeFilter, DeviceFilter


def listed(*names: str) -> Any:
    """Documents the query parameters of a list."""
    return extend_schema_view(list=extend_schema(parameters=[OpenApiParameter(name, str) for name in names]))


class RealmView(ReadView):
    serializer_class = s.RealmSerializer
    view_perm = "policyhub.view_realm"

    def rows(self, asked: dict[str, str]) -> QuerySet[Realm]:
        return Realm.objects.order_by("name")


class DeviceGroupView(ReadView):
    serializer_class = s.DeviceGroupSerializer
    view_perm = "policyhub.view_devicegroup"

    def rows(self, asked: dict[str, str]) -> QuerySet[DeviceGroup]:
        return DeviceGroup.objects.order_by("name")


@listed("q", "group", "state", "realm")
class DeviceView(ReadView):
    serializer_class = s.DeviceSerializer
    view_perm = "policyhub.view_device"

    def rows(self, asked: dict[str, str]) -> QuerySet[Any]:
        return listings.devices(
            DeviceFilter(asked.get("q", ""), asked.get("group", ""), asked.get("state", ""), asked.get("realm"))
        )


class HostKeyView(ReadView):
    serializer_class = s.HostKeySerializer
    view_perm = "policyhub.view_hostkey"

    def rows(self, asked: dict[str, str]) -> QuerySet[HostKey]:
        return HostKey.objects.select_related("device").order_by("-pk")


class SnapshotView(ReadView):
    serializer_class = s.SnapshotSerializer
    view_perm = "policyhub.view_configsnapshot"

    def rows(self, asked: dict[str, str]) -> QuerySet[ConfigSnapshot]:
        return ConfigSnapshot.objects.select_related("device").defer("text_envelope", "counters_envelope").order_by("-pk")


@listed("device")
class CounterReadingView(ReadView):
    """Readings of queue counters, newest first; one of them holds its numbers."""

    view_perm = "policyhub.view_counterreading"

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        return s.CounterReadingListSerializer if self.action == "list" else s.CounterReadingSerializer

    def rows(self, asked: dict[str, str]) -> QuerySet[CounterReading]:
        found = CounterReading.objects.select_related("device").order_by("-read_at", "-pk")
        if self.action == "list":
            found = found.defer("packed")
        device = number(asked.get("device"))
        return found.filter(device_id=device) if device else found


@listed("q", "severity", "name", "status", "device", "realm")
class FindingView(ReadView):
    """Open findings, worst first; `status=all` gives all of them."""

    serializer_class = s.FindingSerializer
    view_perm = "policyhub.view_finding"

    def rows(self, asked: dict[str, str]) -> QuerySet[Any]:
        get = asked.get
        status = get("status", "") if self.action == "list" else "all"
        wish = FindingFilter(get("severity", ""), get("name", ""), number(get("device")), status, get("q", ""), get("realm"))
        return findings.findings(wish)


class SweepView(ReadView):
    serializer_class = s.SweepSerializer
    view_perm = "policyhub.view_sweep"

    def rows(self, asked: dict[str, str]) -> QuerySet[Sweep]:
        return Sweep.objects.order_by("-pk")


@listed("state", "device", "realm")
class ChangeView(ReadView):
    view_perm = "policyhub.view_change"

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        return s.ChangeListSerializer if self.action == "list" else s.ChangeSerializer

    def rows(self, asked: dict[str, str]) -> QuerySet[Change]:
        if self.action == "list":
            return listings.changes(ChangeFilter(asked.get("state", ""), number(asked.get("device")), asked.get("realm")))
        pk = number(self.kwargs.get("pk"))
        return listings.change(pk or 0)

    @extend_schema(request=s.ApproveRequest, responses={200: s.ChangeSerializer, 403: s.Problem, 409: s.Problem})
    @action(detail=True, methods=["post"], permission_classes=[act_permission("approve", "policyhub.approve_change")])
    def approve(self, request: Request, pk: str) -> Response:
        """Approve exactly the plan whose hash you send. The token must belong to a person other than the requester."""
        change, body = self.get_object(), _body(s.ApproveRequest, request)
        if request.auth.user is None:
            raise PermissionDenied("Only a person approves: use a token that belongs to one.")
        changes.approve(change=change, approver=request.auth.user, plan_sha256=body["plan_sha256"], now=timezone.now())
        return self._now()

    @extend_schema(request=s.ReasonRequest, responses={200: s.ChangeSerializer, 409: s.Problem})
    @action(detail=True, methods=["post"], permission_classes=[act_permission("push", "policyhub.push_change")])
    def revert(self, request: Request, pk: str) -> Response:
        """Take the change back: the inverse is pushed and verified by a worker."""
        reason = _body(s.ReasonRequest, request)["reason"]
        changes.revert(change_id=self.get_object().pk, actor=actor(request), reason=reason, now=timezone.now())
        return self._now()

    @extend_schema(request=None, responses={200: s.ChangeSerializer, 409: s.Problem})
    @action(detail=True, methods=["post"], permission_classes=[act_permission("plan", "policyhub.change_change")])
    def cancel(self, request: Request, pk: str) -> Response:
        """Before anything was sent."""
        changes.cancel(change_id=self.get_object().pk, actor=actor(request), now=timezone.now())
        return self._now()

    def _now(self) -> Response:
        return Response(self.get_serializer(self.get_object()).data)


@listed("actor", "action")
class AuditView(ReadView):
    serializer_class = s.AuditEntrySerializer
    view_perm = "policyhub.view_auditentry"
    lookup_field = "sequence"

    def rows(self, asked: dict[str, str]) -> QuerySet[Any]:
        return listings.audit(asked.get("actor", ""), asked.get("action", ""))


class KillSwitchView(Base, GenericViewSet[KillSwitch]):
    """Every scope that was ever switched; one that is not listed lets pushes through."""

    serializer_class = s.KillSwitchSerializer
    pagination_class = Pages
    queryset = KillSwitch.objects.order_by("scope")

    def get_permissions(self) -> list[Any]:
        if self.request is not None and self.request.method == "POST":
            return [act_permission("push", "policyhub.change_killswitch")()]
        return [read_permission("policyhub.view_killswitch")()]

    @extend_schema(responses={200: s.KillSwitchSerializer(many=True)})
    def list(self, request: Request) -> Response:
        return self.get_paginated_response(self.get_serializer(self.paginate_queryset(self.get_queryset()), many=True).data)

    @extend_schema(request=s.KillSwitchRequest, responses={200: s.KillSwitchSerializer})
    def create(self, request: Request) -> Response:
        """Engage or release."""
        body = _body(s.KillSwitchRequest, request)
        act = kill_switch.engage if body["engaged"] else kill_switch.release
        row = act(scope=body["scope"], actor=actor(request), reason=body["reason"], now=timezone.now())
        return Response(s.KillSwitchSerializer(row).data)


def actor(request: Request) -> str:
    """The name that the audit keeps: the person, or the token that speaks for nobody."""
    return str(request.user.get_username())[:150]


def _body(kind: type[Any], request: Request) -> dict[str, Any]:
    form = kind(data=request.data)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)
