"""The sensor's words in the reader's language: the service's own catalogue, read without Django."""

from __future__ import annotations

from collections.abc import Callable
from gettext import NullTranslations, translation
from pathlib import Path

import flowguard

CATALOGUES = {"en": "", "zh": "zh_Hans"}  # value of --lang -> folder of the catalogue; "" = the program's own words


def translator(lang: str) -> Callable[[str], str]:
    """msgid -> text. lang: a key of CATALOGUES."""
    folder = CATALOGUES[lang]
    locale = Path(flowguard.__path__[0]) / "locale"
    return (translation("django", locale, [folder]) if folder else NullTranslations()).gettext
