"""The sensor's words in the reader's language: the service's own catalogues, read without Django."""

from __future__ import annotations

from collections.abc import Callable
from gettext import NullTranslations, translation
from pathlib import Path

import flowguard
import policyhub

CATALOGUES = {"en": "", "zh": "zh_Hans"}  # value of --lang -> folder of the catalogue; "" = the program's own words


def translator(lang: str) -> Callable[[str], str]:
    """msgid -> text. lang: a key of CATALOGUES. What vendors and files are told of stands in policyhub's catalogue."""
    folder = CATALOGUES[lang]
    if not folder:
        return NullTranslations().gettext
    own, others = (translation("django", Path(app.__path__[0]) / "locale", [folder]) for app in (flowguard, policyhub))
    own.add_fallback(others)
    return own.gettext
