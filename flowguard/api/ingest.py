"""The sensor's doors: batches in, the bundle out."""

from __future__ import annotations

import zlib
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from flowguard.actions import bundles, receive, sensors
from flowguard.domain.batch import read_backlog, read_batch
from flowguard.domain.errors import BadBatch, BatchConflict, BatchTooLarge
from policyhub.api.auth import SensorPermission, TokenAuthentication
from policyhub.domain.errors import PolicyHubError

# On the wire and unpacked. A second of one point with all its 4096 sources is about 400 kB.
MAX_WIRE_BYTES = 4 * 1024 * 1024
MAX_BODY_BYTES = 16 * 1024 * 1024
RETRY_AFTER_S = 1
STATUS: dict[type[PolicyHubError], HTTPStatus] = {
    BadBatch: HTTPStatus.UNPROCESSABLE_ENTITY,
    BatchConflict: HTTPStatus.CONFLICT,
    BatchTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}


class SensorView(APIView):
    authentication_classes = [TokenAuthentication]
    permission_classes = [SensorPermission]

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, OperationalError):  # locked, full or away: the sensor keeps the batch and comes again
            response = _problem(HTTPStatus.SERVICE_UNAVAILABLE, "FG-E005", "the database cannot take it now. Send it again")
            response["Retry-After"] = str(RETRY_AFTER_S)
            return response
        if isinstance(exc, PolicyHubError):
            return _problem(STATUS.get(type(exc), HTTPStatus.BAD_REQUEST), exc.code, exc.message)
        return super().handle_exception(exc)


class BatchesView(SensorView):
    """201 stored, 200 stored before, 409 the same key with other content, 413 too large, 422 not a batch."""

    @extend_schema(request={"application/json": dict}, responses={201: OpenApiResponse(), 200: OpenApiResponse()})
    def post(self, request: Request, sensor: str) -> Response:
        batch = read_batch(_body(request), sensor=sensor)
        backlog = read_backlog(request.headers, delivered=1)
        is_new = receive.store(sensor=sensors.enrol(sensor), batch=batch, backlog=backlog, now=timezone.now())
        return Response({"stored": True, "new": is_new}, HTTPStatus.CREATED if is_new else HTTPStatus.OK)


class BundleView(SensorView):
    """The guard bundle; 304 while the version in If-None-Match is still the one."""

    @extend_schema(responses={200: dict, 304: OpenApiResponse()})
    def get(self, request: Request, sensor: str) -> HttpResponse:
        backlog = read_backlog(request.headers, delivered=0)
        bundle = bundles.hand_out(sensor=sensors.enrol(sensor), backlog=backlog, now=timezone.now())
        etag = f'"{bundle.version}"'
        known = {tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")}
        response = HttpResponse(status=304) if etag in known else HttpResponse(bundle.body, content_type="application/json")
        response["ETag"], response["Cache-Control"] = etag, "private, no-cache"
        return response


def _problem(status: HTTPStatus, code: str, message: str) -> Response:
    return Response({"code": code, "message": message, "data": {}}, status)


def _body(request: Request) -> bytes:
    """The JSON bytes, unpacked. Reads one byte more than may come, never the rest."""
    limit = getattr(settings, "FLOWGUARD_MAX_WIRE_BYTES", MAX_WIRE_BYTES)
    wire: Any = request._request.read(limit + 1)
    if len(wire) > limit:
        raise BatchTooLarge(f"body: more than {limit} bytes. Send smaller batches")
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return bytes(wire)
    if encoding != "gzip":
        raise BadBatch(f"Content-Encoding: {encoding[:40]!r} is not known. Send gzip or nothing")
    return _gunzip(wire)


def _gunzip(wire: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        body = unpacker.decompress(wire, MAX_BODY_BYTES + 1)
    except zlib.error as error:
        raise BadBatch(f"body: not gzip ({error}). Send it again") from None
    if len(body) > MAX_BODY_BYTES:  # a few kB can unpack to gigabytes
        raise BatchTooLarge(f"body: unpacks to more than {MAX_BODY_BYTES} bytes. Send smaller batches")
    if not unpacker.eof or unpacker.unused_data:
        raise BadBatch("body: the gzip stream ends too early or goes on after its end. Send it again")
    return body
