"""The traffic side of the API: reads for all, and taking an enforcement back."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from flowguard.actions import enforcement as actions
from flowguard.api import serializers as s
from flowguard.models import Enforcement, IdentityEntry, NeverTouch, ObservationPoint, Sensor, SensorShape, StreamGap, Verdict
from flowguard.queries import enforcement, guards, identities_listing, verdicts
from flowguard.queries.enforcement import EnforcementFilter
from flowguard.queries.verdicts import VerdictFilter
from policyhub.api.base import ReadView, act_permission, number, read_permission
from policyhub.api.serializers import Problem, ReasonRequest
from policyhub.api.views import actor, listed


@listed("q", "severity", "name", "standing", "realm")
class VerdictView(ReadView):
    """Verdicts that stand, newest packet first; `standing=all` gives all of them."""

    view_perm = "flowguard.view_verdict"

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        return s.VerdictListSerializer if self.action == "list" else s.VerdictSerializer

    def rows(self, asked: dict[str, str]) -> QuerySet[Verdict]:
        get = asked.get
        if self.action != "list":
            return Verdict.objects.select_related("sensor")
        wish = VerdictFilter(get("severity", ""), get("name", ""), get("standing", ""), get("q", ""), None, get("realm"))
        return verdicts.verdicts(wish).prefetch_related(None)


@listed("q", "core", "realm")
class IdentityView(ReadView):
    serializer_class = s.IdentitySerializer
    view_perm = "flowguard.view_identityentry"

    def rows(self, asked: dict[str, str]) -> QuerySet[IdentityEntry]:
        return identities_listing.entries(asked.get("q", ""), asked.get("core", ""), asked.get("realm"))


class NeverTouchView(ReadView):
    serializer_class = s.NeverTouchSerializer
    view_perm = "flowguard.view_nevertouch"

    def rows(self, asked: dict[str, str]) -> QuerySet[NeverTouch]:
        return NeverTouch.objects.select_related("realm").order_by("pk")


class SensorReadView(ReadView):
    serializer_class = s.SensorSerializer
    view_perm = "flowguard.view_sensor"

    def rows(self, asked: dict[str, str]) -> QuerySet[Sensor]:
        return Sensor.objects.select_related("group").order_by("name")

    @extend_schema(responses={200: s.ShapeSerializer, 404: Problem})
    @action(detail=True, permission_classes=[read_permission("flowguard.view_sensor")])
    def shape(self, request: Request, pk: str) -> Response:
        """Neighbours, flows inside tunnels, bulk and groups, as it told them last; 404 until it told any."""
        told = SensorShape.objects.select_related("sensor", "stream")
        return Response(s.ShapeSerializer(get_object_or_404(told, sensor=self.get_object())).data)


class PointView(ReadView):
    serializer_class = s.PointSerializer
    view_perm = "flowguard.view_observationpoint"

    def rows(self, asked: dict[str, str]) -> QuerySet[ObservationPoint]:
        return ObservationPoint.objects.select_related("sensor", "realm", "device", "stands_behind").order_by("pk")


class GapView(ReadView):
    serializer_class = s.GapSerializer
    view_perm = "flowguard.view_streamgap"

    def rows(self, asked: dict[str, str]) -> QuerySet[StreamGap]:
        return StreamGap.objects.select_related("sensor").order_by("-pk")


@listed("realm")
class GuardView(ReadView):
    serializer_class = s.GuardSerializer
    view_perm = "flowguard.view_guard"

    def rows(self, asked: dict[str, str]) -> QuerySet[Any]:
        return guards.guards(asked.get("realm"))


@listed("q", "state", "realm")
class EnforcementView(ReadView):
    view_perm = "flowguard.view_enforcement"

    def get_serializer_class(self) -> type[BaseSerializer[Any]]:
        return s.EnforcementListSerializer if self.action == "list" else s.EnforcementSerializer

    def rows(self, asked: dict[str, str]) -> QuerySet[Enforcement]:
        if self.action == "list":
            return enforcement.enforcements(EnforcementFilter(asked.get("state", ""), asked.get("q", ""), asked.get("realm")))
        return enforcement.enforcement(number(self.kwargs.get("pk")) or 0)

    @extend_schema(request=ReasonRequest, responses={200: s.EnforcementSerializer, 409: Problem})
    @action(detail=True, methods=["post"], permission_classes=[act_permission("push", "flowguard.change_enforcement")])
    def withdraw(self, request: Request, pk: str) -> Response:
        """Take the member back now; a worker pushes the inverse and verifies it."""
        form = ReasonRequest(data=request.data)
        form.is_valid(raise_exception=True)
        row = self.get_object()
        actions.withdraw(enforcement_id=row.pk, actor=actor(request), reason=form.validated_data["reason"], now=timezone.now())
        return Response(self.get_serializer(self.get_object()).data)
