"""What stands around every page: navigation, banners, realm, theme."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest

from policyhub.console import registry
from policyhub.queries import frame as frame_queries
from policyhub.queries.frame import Situation

THEMES = ("auto", "light", "dark")
REALM_COOKIE, THEME_COOKIE = "policyhub_realm", "policyhub_theme"
NO_REALM = "-"


@dataclass(frozen=True, slots=True)
class Frame:
    """sections: navigation in order. situation: None for a page without a user (login, 500)."""

    theme: str
    path: str
    sections: tuple[tuple[str, tuple[registry.NavEntry, ...]], ...] = ()
    current: str = ""
    situation: Situation | None = None
    realm: str | None = None

    @property
    def realm_value(self) -> str:
        return "*" if self.realm is None else self.realm or NO_REALM


def build(request: HttpRequest | None) -> Frame:
    """The frame for one request; three SQL queries for a user, none for a stranger."""
    if request is None:
        return Frame(theme="auto", path="/")
    frame = Frame(theme=theme_of(request), path=request.get_full_path())
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return frame
    seen = [entry for entry in registry.navigation.all() if not entry.permission or user.has_perm(entry.permission)]
    sections = tuple((name, tuple(entry for entry in seen if entry.section == name)) for name in ("work", "system"))
    match = getattr(request, "resolver_match", None)
    current = match.url_name.split("-")[0] if match and match.url_name else ""
    return Frame(frame.theme, frame.path, sections, current, frame_queries.situation(), realm_of(request))


def theme_of(request: HttpRequest) -> str:
    chosen = request.COOKIES.get(THEME_COOKIE, "auto")
    return chosen if chosen in THEMES else "auto"


def realm_of(request: HttpRequest) -> str | None:
    """The realm the reader narrowed the pages to; None = all of them, "" = the default realm."""
    chosen = request.COOKIES.get(REALM_COOKIE, "*")
    return None if chosen == "*" else "" if chosen == NO_REALM else chosen
