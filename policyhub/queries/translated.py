"""Search in the reader's words: stored sentences are msgids and values, so Chinese is sought in their translations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext

NOTHING = Q(pk__in=())
_VALUE = re.compile(r"%\(\w+\)[a-z]")


def speaks(template: str, text: str) -> bool:
    """Whether the translation of a msgid holds a text between its values, in any case."""
    return any(text.casefold() in part.casefold() for part in _VALUE.split(gettext(template)))


def said_as(rows: QuerySet[Any, Any] | type[Model], paths: Iterable[str], text: str) -> Q:
    """Rows whose msgid at one of the JSON paths reads so in the active language. ASCII is left to the stored English."""
    if not text or text.isascii():
        return NOTHING
    every = rows if isinstance(rows, QuerySet) else rows._default_manager.all()
    found = NOTHING
    for path in paths:
        templates = every.order_by().values_list(path, flat=True).distinct()
        known = [template for template in templates if isinstance(template, str) and template and speaks(template, text)]
        if known:
            found |= Q(**{f"{path}__in": known})
    return found
