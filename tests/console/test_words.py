"""Both languages are whole, and what is compiled is what stands in the catalogue."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.utils import translation

from flowguard.console import labels as traffic
from flowguard.domain import guardrails, judgement
from policyhub.console import labels

ROOT = Path(__file__).resolve().parents[2]
APPS = ("policyhub", "flowguard")


def catalogue(app: str, root: Path = ROOT) -> Path:
    return root / app / "locale/zh_Hans/LC_MESSAGES/django.po"


def msgids(path: Path) -> set[str]:
    text = re.sub(r'"\n"', "", path.read_text(encoding="utf-8"))
    return set(re.findall(r'^msgid "(.+)"$', text, re.M))


@pytest.mark.parametrize("app", APPS)
def test_nothing_is_untranslated_or_fuzzy_and_formats_agree(app: str, tmp_path: Path) -> None:
    made = tmp_path / "made.mo"
    command = ["msgfmt", "--check-format", "--check-domain", "--statistics", "-o", str(made), str(catalogue(app))]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert "untranslated" not in told.stderr and "fuzzy" not in told.stderr, told.stderr
    assert made.read_bytes() == catalogue(app).with_suffix(".mo").read_bytes(), "the .mo is older than the .po: compile it"


@pytest.mark.parametrize("app", APPS)
def test_catalogue_holds_every_text_of_the_source(app: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / app, tmp_path / app, ignore=shutil.ignore_patterns("__pycache__", "*.mo", "migrations"))
    command = [sys.executable, "-m", "django", "makemessages", "-l", "zh_Hans", "--no-location"]
    subprocess.run(command, cwd=tmp_path / app, check=True, capture_output=True)
    missing = msgids(catalogue(app, tmp_path)) - msgids(catalogue(app))
    assert not missing, f"run makemessages in {app}/ and translate: {sorted(missing)[:10]}"


@pytest.mark.parametrize("app", APPS)
def test_no_text_stands_in_the_templates_outside_of_the_catalogue(app: str) -> None:
    """Latin words between tags, after everything that is a tag, a variable or code is taken away."""
    allowed = {"PolicyHub", "UTC", "English", "Mbit", "ns", "s", "Esc", "g", "j", "k", "x", "e"}
    for path in (ROOT / app / "templates").rglob("*.html"):
        if path.name == "500.html":  # stands in both languages by itself: no catalogue may be needed when all is broken
            continue
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"{% blocktranslate.*?{% endblocktranslate %}|{%.*?%}|{{.*?}}|{#.*?#}", " ", text, flags=re.S)
        text = re.sub(r"<(code|svg|pre)\b.*?</\1>|lang=\"(en|zh-hans)\"[^>]*>.*?</button>", " ", text, flags=re.S)
        text = re.sub(r"<[^>]*>", " ", text)
        words = set(re.findall(r"[A-Za-z]{2,}", text)) - allowed
        assert words <= {"api", "docs", "schema", "nbsp", "amp"}, (path.name, words)


def test_every_label_has_a_chinese_word() -> None:
    texts = [*labels.CHANGE_KIND.values(), *labels.PUSH_OUTCOME.values(), *labels.GUARDRAILS.values(), *traffic.SIGNALS.values()]
    texts += [text for pair in (*labels.CHECKS.values(), *traffic.VERDICTS.values(), *traffic.OUTCOMES.values()) for text in pair]
    with translation.override("zh-hans"):
        plain = [str(text) for text in texts if not re.search(r"[\u4e00-\u9fff]", str(text))]
    assert not plain


def test_every_guard_rail_has_a_name_in_words() -> None:
    names = {rail.__name__.replace("_", "-") for rail in guardrails.RAILS}
    assert names <= set(labels.GUARDRAILS)


def test_stored_message_is_read_in_the_readers_language() -> None:
    with translation.override("zh-hans"):
        assert labels.said(judgement.ROSE, {"dscp": 46}) == "变更后 DSCP 46 的重传上升"
    assert labels.said(judgement.ROSE, {"dscp": 46}) == "retransmissions of DSCP 46 rose after the change"


@pytest.mark.parametrize("values", [None, {}, {"other": 1}, {"dscp": "x"}])
def test_stored_message_with_unfit_values_is_shown_not_broken(values: dict[str, object] | None) -> None:
    assert "retransmissions" in labels.said(judgement.ROSE, values)
