"""The sensor's words in the reader's language: the service's own catalogues, read without Django."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from gettext import NullTranslations, translation
from pathlib import Path

import flowguard
import policyhub
from policyhub.domain.errors import BadInput, PolicyHubError
from policyhub.domain.message import gettext_noop

CATALOGUES = {"en": "", "zh": "zh_Hans"}  # value of --lang -> folder of the catalogue; "" = the program's own words


def reader_arguments(parser: argparse.ArgumentParser) -> None:
    """In which form, and in which language, a command tells its result."""
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--lang", choices=tuple(CATALOGUES), default="en")


# What the engine's codes stand for; its own words, with place and cure, follow.
CAPTURE_ERRORS = {
    "NC-E001": gettext_noop("the file cannot be read"),
    "NC-E002": gettext_noop("the file is no capture"),
    "NC-E003": gettext_noop("the capture ends too early"),
    "NC-E004": gettext_noop("the capture is damaged"),
    "NC-E005": gettext_noop("the interface cannot be used"),
    "NC-E006": gettext_noop("packed data fails its checksum"),
    "NC-E010": gettext_noop("the ledger's bundle cannot be used"),
    "NC-E011": gettext_noop("the queues file cannot be used"),
    "NC-E012": gettext_noop("the arguments do not fit"),
    "NC-E013": gettext_noop("the engine has ended"),
    "NC-E014": gettext_noop("the signatures cannot be used"),
}


def error_line(error: Exception, read: Callable[[str], str]) -> str:
    """One line for people. An error of the engine is in English, behind what its code stands for."""
    if isinstance(error, PolicyHubError):
        return error.told.read(read)
    known = CAPTURE_ERRORS.get(getattr(error, "code", ""), "")
    return str(error) if not known or read(known) == known else f"{read(known)}: {error}"


def no_such_point(option: str, name: str, names: Iterable[str]) -> BadInput:
    said = gettext_noop("%(option)s %(name)s: no such point. The points are %(names)s")
    return BadInput.of(said, option=option, name=name, names=", ".join(names))


def translator(lang: str) -> Callable[[str], str]:
    """msgid -> text. lang: a key of CATALOGUES. What vendors and files are told of stands in policyhub's catalogue."""
    folder = CATALOGUES[lang]
    if not folder:
        return NullTranslations().gettext
    own, others = (translation("django", Path(app.__path__[0]) / "locale", [folder]) for app in (flowguard, policyhub))
    own.add_fallback(others)
    return own.gettext
