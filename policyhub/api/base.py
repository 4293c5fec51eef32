"""What all views of the API share: who may call, how pages are cut, and how errors look (`{code, message, data}`)."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext
from rest_framework import exceptions, viewsets
from rest_framework.authentication import SessionAuthentication
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from policyhub.api.auth import ReadScope, TokenAuthentication, has_scope
from policyhub.domain.errors import PolicyHubError
from policyhub.models import ApiToken
from policyhub.queries.words import said

STATUS = {"WrongState": HTTPStatus.CONFLICT, "PlanChanged": HTTPStatus.CONFLICT, "SelfApproval": HTTPStatus.FORBIDDEN}


class Pages(LimitOffsetPagination):
    """`?limit=` at most 500, `?offset=`."""

    default_limit = 50
    max_limit = 500


def read_permission(perm: str) -> type[ReadScope]:
    """Tokens need the scope `read`; people need Django's view permission of the model."""
    return type("ReadPermission", (ReadScope,), {"perm": perm})


def act_permission(scope: str, perm: str) -> type[BasePermission]:
    """Acts are for tokens only: in the browser they ask for the password again, and this door would go around that.

    A person behind the token needs `perm` as well.
    """

    class ActPermission(BasePermission):
        message = f"This needs a token with the scope {scope!r}. In the browser, use the console's page."

        def has_permission(self, request: Request, view: Any) -> bool:
            token = request.auth
            if not isinstance(token, ApiToken) or not has_scope(token, scope):
                return False
            return token.user is None or token.user.has_perm(perm)

    return ActPermission


class BoundedJson(JSONParser):
    """JSON whose nesting Python's reader cannot follow is the caller's mistake, too."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise exceptions.ParseError("JSON parse error - nested too deep") from None


class Base(APIView):
    """Mixin of every view: both ways to log in, our pages, our errors."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    parser_classes = [BoundedJson, FormParser, MultiPartParser]

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        return told


class ReadView(Base, viewsets.ReadOnlyModelViewSet[Any]):
    """List and detail. `rows` is called per request with the query parameters."""

    view_perm = ""
    pagination_class = Pages

    def get_permissions(self) -> list[BasePermission]:
        if self.action in ("list", "retrieve", "metadata", None):
            return [read_permission(self.view_perm)()]
        return super().get_permissions()  # type: ignore[return-value]

    def rows(self, asked: dict[str, str]) -> QuerySet[Any]:
        raise AttributeError(f"{type(self).__name__} names no rows")

    def get_queryset(self) -> QuerySet[Any]:
        if getattr(self, "swagger_fake_view", False):
            return self.rows({})
        return self.rows({key: str(value).replace("\0", "") for key, value in self.request.query_params.items()})


def number(text: str | None) -> int | None:
    """A primary key from a query parameter; anything else is None."""
    return int(text) if text and text.isdecimal() and len(text) < 18 else None


def told(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal as `{code, message, data}`; what nobody foresaw stays a 500 without a word about the inside."""
    if isinstance(error, PolicyHubError):
        status = STATUS.get(type(error).__name__, HTTPStatus.UNPROCESSABLE_ENTITY)
        plain = {key: value if isinstance(value, int | str | None) else str(value) for key, value in error.data.items()}
        return _answer(status, error.code, said(error.said.template, error.said.values), plain)
    if isinstance(error, Http404):
        return _answer(HTTPStatus.NOT_FOUND, "PH-A404", gettext("There is no such thing here."), {})
    if isinstance(error, PermissionDenied):
        return _answer(HTTPStatus.FORBIDDEN, "PH-A403", gettext("You may not do this."), {})
    if not isinstance(error, exceptions.APIException):
        return None
    data = error.detail if isinstance(error, exceptions.ValidationError) else {}
    message = gettext("The request's fields are not right; `data` names them.") if data else str(error.detail)
    answer = _answer(error.status_code, f"PH-A{error.status_code}", message, data)
    if header := getattr(error, "auth_header", None):
        answer["WWW-Authenticate"] = header
    return answer


def _answer(status: int, code: str, message: str, data: Any) -> Response:
    return Response({"code": code, "message": message, "data": data}, int(status))
