"""Who calls the API and what for: bearer tokens with scopes, beside the console's session."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from policyhub.actions import tokens
from policyhub.models import ApiToken

# admin is everything but ingest: a person's token must not be able to speak as a sensor.
IMPLIED = {"admin": frozenset({"read", "plan", "approve", "push", "admin"})}
READS = frozenset({"GET", "HEAD", "OPTIONS"})


class TokenUser(AnonymousUser):
    """The caller behind a token without a person (a sensor, a script): authenticated, with no permission of its own."""

    def __init__(self, token: ApiToken) -> None:
        super().__init__()
        self.username = f"token:{token.name}"  # type: ignore[assignment]

    @property
    def is_authenticated(self) -> bool:  # type: ignore[override]
        return True

    @property
    def is_anonymous(self) -> bool:  # type: ignore[override]
        return False


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer phb_<key>.<secret>`; request.auth is the ApiToken. One answer for every kind of wrong token."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token = tokens.verify(text.strip(), now=timezone.now())
        if token is None:
            raise AuthenticationFailed("This token is unknown, expired or revoked. Create one with `policyhub token create`.")
        return token.user or TokenUser(token), token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "phb_<key>.<secret>"}


def has_scope(token: ApiToken, scope: str) -> bool:
    return scope in token.scopes or any(scope in IMPLIED.get(own, ()) for own in token.scopes)


class ScopePermission(BasePermission):
    """A token needs `scope`; a session needs to be a logged-in user, and `perm` where one is named."""

    scope = "read"
    perm = ""

    def has_permission(self, request: Request, view: Any) -> bool:
        if isinstance(request.auth, ApiToken):
            return has_scope(request.auth, self.scope) and (request.auth.user is None or self._person_may(request))
        return bool(request.user and request.user.is_authenticated) and self._person_may(request)

    def _person_may(self, request: Request) -> bool:
        return not self.perm or request.user.has_perm(self.perm)


class ReadScope(ScopePermission):
    """Only reads; anything else needs its own scope."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return request.method in READS and super().has_permission(request, view)


def scope(name: str, perm: str = "") -> type[ScopePermission]:
    """A permission class. perm: what a person needs, in a session or behind a token, e.g. `policyhub.approve_change`."""
    return type(f"{name.title()}Scope", (ScopePermission,), {"scope": name, "perm": perm})


class SensorPermission(BasePermission):
    """An ingest token that is bound to exactly the sensor in the address. Says nothing about which sensors exist."""

    def has_permission(self, request: Request, view: Any) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken) or "ingest" not in token.scopes:
            return False
        return bool(token.sensor) and token.sensor == view.kwargs.get("sensor")
