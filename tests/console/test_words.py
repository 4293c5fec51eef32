"""Both languages are whole, and what is compiled is what stands in the catalogue."""

from __future__ import annotations

import ast
import gettext as catalogues
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.utils import translation
from django.utils.translation import gettext

from flowguard.console import labels as traffic
from flowguard.domain import guardrails, judgement
from policyhub.checks import evidence
from policyhub.checks.catalogue import texts
from policyhub.checks.overbroad_rule import TOO_MANY
from policyhub.checks.registry import Check, all_checks
from policyhub.console import labels
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.message import Message

ROOT = Path(__file__).resolve().parents[2]
APPS = ("policyhub", "flowguard")
SPEAKING = (
    "policyhub/checks", "policyhub/domain", "policyhub/actions", "policyhub/transport", "policyhub/vendorkit",
    "policyhub/vendors", "policyhub/management",
    "flowguard/domain", "flowguard/actions",
)  # fmt: skip
CHINESE = re.compile(r"[\u4e00-\u9fff]")


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


# ASCII punctuation beside a Chinese character, and blanks beside Chinese punctuation.
WRONG_MARK = re.compile(
    r"[\u4e00-\u9fff”）][,:;?!()]|[,:;?!()] ?[\u4e00-\u9fff“（]|[\u4e00-\u9fff] [，。；：！？（）、]|[，。；：！？（）、] "
)


@pytest.mark.parametrize("app", APPS)
def test_chinese_has_the_marks_of_chinese(app: str) -> None:
    """Values between marks (`%(host)s:%(port)s`) and code stay as they are: no Chinese character touches them."""
    joined = re.sub(r'"\n"', "", catalogue(app).read_text(encoding="utf-8"))
    told = re.findall(r'^msgstr(?:\[\d\])? "(.+)"$', joined, re.M)
    assert len(told) > 500
    assert not [text for text in told if WRONG_MARK.search(text)]


def test_every_label_has_a_chinese_word() -> None:
    texts = [*labels.CHANGE_KIND.values(), *labels.PUSH_OUTCOME.values(), *labels.GUARDRAILS.values(), *traffic.SIGNALS.values()]
    texts += [text for pair in (*labels.CHECKS.values(), *traffic.VERDICTS.values(), *traffic.OUTCOMES.values()) for text in pair]
    with translation.override("zh-hans"):
        plain = [str(text) for text in texts if not CHINESE.search(str(text))]
    assert not plain


def untranslated(msgids: Iterable[str]) -> list[str]:
    with translation.override("zh-hans"):
        return [text for text in msgids if not CHINESE.search(gettext(text))]


def constants(node: ast.AST) -> Iterator[ast.Constant]:
    """Strings in an expression that may become its value: not keys of dicts, not subscripts."""
    match node:
        case ast.Constant(value=str()):
            yield node
        case ast.Dict():
            for value in node.values:
                yield from constants(value)
        case ast.Subscript():
            yield from constants(node.value)
        case ast.IfExp():
            yield from constants(node.body)
            yield from constants(node.orelse)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from constants(child)


def called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return f"{name}.{attribute}"
    return ""


def calls(scope: ast.AST) -> list[tuple[str, ast.Call]]:
    return [(called(node), node) for node in ast.walk(scope) if isinstance(node, ast.Call)]


def assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """What names are given: data and templates, not what functions of the program return."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and not (isinstance(node.value, ast.Call) and called(node.value) != "gettext_noop"):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return found


def subclasses(error: type[PolicyHubError]) -> Iterator[type[PolicyHubError]]:
    for one in error.__subclasses__():
        yield one
        yield from subclasses(one)


# Calls whose first argument is a template.
MAKERS = {"Message", *(f"{error.__name__}.of" for error in subclasses(PolicyHubError))}


def templates(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """(template, whether it is marked for the catalogue) of every message that a module makes, also by names of the module."""
    marked = {node for name, call in calls(tree) if name == "gettext_noop" for node in constants(call)}
    for scope in (tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))):
        named = assigned(tree.body) | (assigned(ast.walk(scope)) if scope is not tree else {})
        for name, call in calls(scope):
            if name not in MAKERS or not call.args:
                continue
            names = [node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)]
            for place in (call.args[0], *(value for name in names for value in named.get(name, ()))):
                yield from ((node.value, node in marked) for node in constants(place))
    yield from ((node.value, True) for node in marked)


def speaking() -> dict[str, ast.Module]:
    """Modules that make messages."""
    texts = {path: path.read_text(encoding="utf-8") for room in SPEAKING for path in sorted((ROOT / room).rglob("*.py"))}
    return {path.relative_to(ROOT).as_posix(): ast.parse(text) for path, text in texts.items() if "domain.message" in text}


def has_words(template: str) -> bool:
    """More than values, signs and abbreviations."""
    return bool(re.search(r"[a-z]{2}", re.sub(r"%\(\w+\)[^a-zA-Z]*[a-z]", "", template)))


def test_every_message_that_is_stored_is_marked_and_has_chinese_words() -> None:
    found = {name: set(templates(tree)) for name, tree in speaking().items()}
    assert sum(len(rows) for rows in found.values()) > 120
    unmarked = [(name, text) for name, rows in found.items() for text, marked in rows if not marked and has_words(text)]
    assert unmarked == []
    assert untranslated(text for rows in found.values() for text, _ in rows if has_words(text)) == []


def test_the_scan_sees_templates_that_nobody_marked() -> None:
    source = 'A = "a word"\nB = {"key": gettext_noop("two words")}\nMessage(A)\nMessage(B["key"])\nMessage(f"no {x} word")\n'
    source += 'BadInput.of("third", a="value")\nDeviceClosed.of(gettext_noop("fourth"))\nAddressSet.of("10.0.0.0/8")\n'
    source += 'def f():\n    said = "local"\n    return Message(said)\ndef g(said):\n    return Message(said)\n'
    found = {("a word", False), ("two words", True), ("no ", False), (" word", False), ("third", False), ("fourth", True)}
    found |= {("local", False)}
    assert set(templates(ast.parse(source))) == found


@pytest.mark.parametrize("one", all_checks(), ids=lambda one: one.name)
def test_what_a_check_says_of_itself_and_advises_has_chinese_words(one: Check) -> None:
    assert untranslated(texts(one)) == []
    assert one.name in labels.CHECKS


def test_evidence_has_chinese_labels_and_words() -> None:
    assert untranslated(label for label, _ in evidence.FIELDS.values() if label) == []
    assert untranslated(evidence.WORDS.values()) == []


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


def test_figures_of_a_stored_sentence_stand_apart_from_chinese_words() -> None:
    count = Message("%(count)s addresses", {"count": "768"})
    many = Message(TOO_MANY, {"sources": Message("any address"), "destinations": count, "services": count, "times": 3})
    with translation.override("zh-hans"):
        for told in (labels.said(many.template, many.as_json()["values"]), many.read(gettext)):  # type: ignore[arg-type]
            assert "可访问 768 个地址的 768 个地址：" in told and told.startswith("任意地址可访问"), told


def test_a_text_of_both_catalogues_has_one_translation() -> None:
    """Django takes the first application's: the other's would never be seen."""
    both = [catalogues.translation("django", ROOT / app / "locale", ["zh_Hans"]) for app in ("policyhub", "flowguard")]
    first, second = (vars(one)["_catalog"] for one in both)
    assert not {text: (first[text], second[text]) for text in first.keys() & second.keys() - {""} if first[text] != second[text]}
