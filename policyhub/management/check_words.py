"""The words of `policyhub check` in the reader's language: the service's own catalogue, read without Django."""

from __future__ import annotations

from gettext import NullTranslations, translation
from pathlib import Path

import policyhub
from policyhub.domain.check_names import TITLES
from policyhub.domain.finding import Severity
from policyhub.domain.message import Message, gettext_noop

CATALOGUES = {"en": "", "zh": "zh_Hans"}  # value of --lang -> folder of the catalogue; "" = the program's own words
TAGS = {"en": "en", "zh": "zh-CN"}  # BCP 47, for HTML and SARIF
SEVERITIES = {
    Severity.CRITICAL: gettext_noop("critical"),
    Severity.HIGH: gettext_noop("high"),
    Severity.MEDIUM: gettext_noop("medium"),
    Severity.LOW: gettext_noop("low"),
    Severity.INFO: gettext_noop("info"),
}


class Words:
    """lang: a key of CATALOGUES."""

    def __init__(self, lang: str = "en") -> None:
        folder = CATALOGUES[lang]
        locale = Path(policyhub.__path__[0]) / "locale"
        self._catalogue = translation("django", locale, [folder]) if folder else NullTranslations()
        self.tag = TAGS[lang]

    def gettext(self, text: str) -> str:
        return self._catalogue.gettext(text) if text else ""

    def ngettext(self, one: str, many: str, count: int) -> str:
        return self._catalogue.ngettext(one, many, count) % {"n": count}

    def read(self, message: Message) -> str:
        return message.read(self.gettext)

    def severity(self, severity: Severity) -> str:
        return self.gettext(SEVERITIES[severity])

    def check(self, name: str) -> str:
        """The name itself in English, which is how the manual and --only call it, its title in other languages."""
        title = TITLES.get(name, name)
        return name if self.gettext(title) == title else self.gettext(title)


ENGLISH = Words()
