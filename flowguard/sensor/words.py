"""The sensor's words in the reader's language: the service's own catalogues, read without Django."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from gettext import NullTranslations, translation
from pathlib import Path

import flowguard
import policyhub

CATALOGUES = {"en": "", "zh": "zh_Hans"}  # value of --lang -> folder of the catalogue; "" = the program's own words


def reader_arguments(parser: argparse.ArgumentParser) -> None:
    """In which form, and in which language, a command tells its result."""
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--lang", choices=tuple(CATALOGUES), default="en")


def translator(lang: str) -> Callable[[str], str]:
    """msgid -> text. lang: a key of CATALOGUES. What vendors and files are told of stands in policyhub's catalogue."""
    folder = CATALOGUES[lang]
    if not folder:
        return NullTranslations().gettext
    own, others = (translation("django", Path(app.__path__[0]) / "locale", [folder]) for app in (flowguard, policyhub))
    own.add_fallback(others)
    return own.gettext
