"""What a reading of the device says about a change, and the values that changes are made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policyhub.domain.change import ChangeKind, Commands, GuardSpec, GuardState, PushOutcome, canonical_member
from policyhub.domain.change_outcome import GuardPicture, is_taken_back, judge_push, mentions
from policyhub.domain.errors import BadInput, PolicyHubError
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, spoken
from policyhub.domain.qos import DscpMap, Phb, dscp_name, parse_dscp, phb_of, served_no_better
from policyhub.domain.redaction import MASK, redact

SPEC = GuardSpec("PHG-A1", ("eth0", "eth1"), frozenset({46, 8}), 0, 1_000_000)
ONE, TWO = "10.0.0.1/32", "10.0.0.2/32"
ABSENT = GuardPicture(False, False, frozenset(), 0)
EMPTY = GuardPicture(True, True, frozenset(), 9)
WITH = replace(EMPTY, members=frozenset({ONE}))
K, P = ChangeKind, PushOutcome


@pytest.mark.parametrize(
    ("kind", "before", "now", "outcome"),
    [
        (K.GUARD_INSTALL, ABSENT, EMPTY, P.APPLIED),
        (K.GUARD_INSTALL, ABSENT, ABSENT, P.NOT_APPLIED),
        (K.GUARD_INSTALL, ABSENT, replace(ABSENT, mentions=2), P.PARTIAL),
        (K.GUARD_INSTALL, ABSENT, replace(EMPTY, intact=False), P.PARTIAL),
        (K.GUARD_INSTALL, ABSENT, WITH, P.PARTIAL),
        (K.GUARD_REMOVE, EMPTY, ABSENT, P.APPLIED),
        (K.GUARD_REMOVE, EMPTY, EMPTY, P.NOT_APPLIED),
        (K.GUARD_REMOVE, EMPTY, replace(EMPTY, mentions=3), P.PARTIAL),
        (K.MEMBER_ADD, EMPTY, WITH, P.APPLIED),
        (K.MEMBER_ADD, EMPTY, EMPTY, P.NOT_APPLIED),
        (K.MEMBER_ADD, EMPTY, replace(WITH, intact=False), P.PARTIAL),
        (K.MEMBER_ADD, EMPTY, replace(WITH, members=frozenset({ONE, TWO})), P.PARTIAL),
        (K.MEMBER_ADD, EMPTY, replace(WITH, installed=False), P.PARTIAL),
        (K.MEMBER_REMOVE, WITH, EMPTY, P.APPLIED),
        (K.MEMBER_REMOVE, WITH, WITH, P.NOT_APPLIED),
        (K.MEMBER_REMOVE, WITH, ABSENT, P.PARTIAL),
        (K.MEMBER_REMOVE, replace(WITH, members=frozenset({ONE, TWO})), EMPTY, P.PARTIAL),
    ],
)
def test_a_push_is_judged_by_what_stands_on_the_device(
    kind: ChangeKind, before: GuardPicture, now: GuardPicture, outcome: PushOutcome
) -> None:
    assert judge_push(kind, ONE, before, now) is outcome


@pytest.mark.parametrize(
    ("kind", "before", "now", "back"),
    [
        (K.GUARD_INSTALL, ABSENT, ABSENT, True),
        (K.GUARD_INSTALL, ABSENT, replace(ABSENT, mentions=1), False),
        (K.GUARD_INSTALL, replace(ABSENT, mentions=1), ABSENT, True),
        (K.GUARD_INSTALL, ABSENT, EMPTY, False),
        (K.GUARD_REMOVE, EMPTY, EMPTY, True),
        (K.GUARD_REMOVE, EMPTY, WITH, True),
        (K.GUARD_REMOVE, WITH, EMPTY, False),
        (K.GUARD_REMOVE, EMPTY, ABSENT, False),
        (K.GUARD_REMOVE, EMPTY, replace(EMPTY, intact=False), False),
        (K.MEMBER_ADD, EMPTY, EMPTY, True),
        (K.MEMBER_ADD, EMPTY, replace(EMPTY, members=frozenset({TWO})), True),
        (K.MEMBER_ADD, EMPTY, WITH, False),
        (K.MEMBER_ADD, EMPTY, ABSENT, False),
        (K.MEMBER_REMOVE, WITH, WITH, True),
        (K.MEMBER_REMOVE, WITH, EMPTY, False),
    ],
)
def test_what_is_taken_back(kind: ChangeKind, before: GuardPicture, now: GuardPicture, back: bool) -> None:
    assert is_taken_back(kind, ONE, before, now) is back


@pytest.mark.parametrize("picture", [ABSENT, EMPTY, WITH, replace(WITH, intact=False, members=frozenset({TWO, ONE}))])
def test_a_picture_is_kept_as_text(picture: GuardPicture) -> None:
    assert GuardPicture.of_text(picture.text) == picture
    words = [str(message) for message in picture.words]
    assert (
        words[0]
        == {
            (True, True): "the guard is installed, exactly as rendered",
            (True, False): "the guard is installed, but not as rendered",
            (False, False): "the guard is not installed",
        }[picture.installed, picture.intact]
    )
    assert words[2:] == [f"member {member}" for member in sorted(picture.members)]


@pytest.mark.parametrize("text", ["", "guard: here; lines naming it: 1", "guard: not installed; lines naming it: 1\nnobody"])
def test_other_text_is_no_picture(text: str) -> None:
    with pytest.raises(ValueError, match="not the picture"):
        GuardPicture.of_text(text)


def test_lines_name_a_guard_in_the_spellings_of_its_platforms() -> None:
    running = "class PHG-A1\nset phg_a1_v4\nclass PHG-A12\nXPHG-A1\n-PHG-A1\nPHG-A1 PHG-A1\n"
    assert mentions(SPEC, running) == 3
    state = GuardState(True, True, frozenset({ONE}), "")
    assert GuardPicture.of(state, SPEC, running) == GuardPicture(True, True, frozenset({ONE}), 3)


def test_guards_are_stored_whole_and_odd_ones_refused() -> None:
    assert GuardSpec.of_json(SPEC.as_json()) == SPEC
    assert SPEC.as_json()["marks"] == [8, 46]
    for change in ({"name": "A1"}, {"name": "PHG-" + "A" * 13}, {"interfaces": ()}, {"marks": frozenset()}):
        with pytest.raises(ValueError, match="guard"):
            replace(SPEC, **change)
    assert canonical_member("10.0.0.1") == ONE
    one = Commands(("a",), ("b",), ("c",))
    assert one.sha256 != Commands(("a", "b"), (), ("c",)).sha256 and len(one.sha256) == 64


def test_code_points() -> None:
    assert [parse_dscp(text) for text in (" EF ", "af41", "0", "63", "be")] == [46, 34, 0, 63, 0]
    for text in ("64", "-1", "fast"):
        with pytest.raises(ValueError, match=r"DSCP|literal"):
            parse_dscp(text)
    assert [dscp_name(value) for value in (0, 1, 44, 46, 8, 10, 2)] == ["DF", "LE", "VA", "EF", "CS1", "AF11", "2"]
    phbs = {46: Phb.EF, 44: Phb.EF, 0: Phb.DF, 8: Phb.CS, 56: Phb.CS, 10: Phb.AF, 2: Phb.AF}
    assert {value: phb_of(value) for value in phbs} == phbs


def test_a_mark_is_served_no_better_only_when_every_map_says_so() -> None:
    low, high = DscpMap("a", ((46, 5), (8, 1), (0, 1))), DscpMap("b", ((46, 5), (8, 6)))
    assert served_no_better((low,), 8, 46) is True and served_no_better((low,), 46, 8) is False
    assert served_no_better((low,), 8, 0) is True
    assert served_no_better((low, high), 8, 46) is False
    assert served_no_better((low, high), 0, 46) is None
    assert served_no_better((low,), 8, 9) is None and served_no_better((), 8, 46) is None


def test_errors_say_place_and_cure() -> None:
    assert str(BadInput.at("a.txt", 7, "odd", "Mend it")) == "PH-E001 a.txt:7: odd. Mend it"
    assert str(BadInput.at("a.txt", None, "odd", "Mend it")) == "PH-E001 a.txt: odd. Mend it"
    error = PolicyHubError.of("%(n)d odd things", n=2)
    assert (str(error.told), error.data) == ("PH-E000 2 odd things", {"n": 2})


def test_messages_are_kept_whole_and_read_in_any_language() -> None:
    inner = Message("%(n)d rules", {"n": 3})
    outer = Message("found: %(what)s", {"what": inner})
    assert str(outer) == "found: 3 rules" and Message.of(outer.as_json()) == outer
    assert outer.read(lambda text: text.replace("found", "gefunden")) == "gefunden: 3 rules"
    assert Message("").read(lambda text: "header of a catalogue") == ""
    assert str(Message("100 %")) == "100 %"
    assert Message.of({"text": "a"}) == Message("a")
    assert Message.of({"text": "%(m)s", "values": {"m": {"x": 1}}}).values == {"m": {"x": 1}}
    assert str(spoken("50 % off")) == "50 % off" and spoken(inner) is inner


def test_chinese_keeps_a_space_beside_the_figures_of_a_sentence_inside_another() -> None:
    chinese = {
        "%(who)s may reach %(what)s": "%(who)s可访问%(what)s的服务",
        "%(n)s addresses": "%(n)s 个地址",
        "any": "任意地址",
    }.get
    some, every = Message("%(n)s addresses", {"n": "768"}), Message("any")
    for who, what, told in (
        (every, some, "任意地址可访问 768 个地址的服务"), (some, every, "768 个地址可访问任意地址的服务"),
        ("h1", "网1", "h1可访问网1的服务"),
    ):  # fmt: skip
        message = Message("%(who)s may reach %(what)s", {"who": who, "what": what})
        assert message.read(lambda text: chinese(text)) == told
        assert Message("%(x)s", {"x": message}).read(lambda text: chinese(text, text)) == told
    assert str(Message("%(who)s may reach %(what)s", {"who": every, "what": some})) == "any may reach 768 addresses"


def test_severities_are_ranked_and_findings_have_a_stable_name() -> None:
    assert [severity.rank for severity in Severity] == [4, 3, 2, 1, 0]
    one = Finding("PH001", "zombie", Severity.LOW, "p", "r", (1,), Message("a"))
    assert one.fingerprint == replace(one, lines=(2,), said=Message("b")).fingerprint != replace(one, rule="s").fingerprint
    assert replace(one, device="d").fingerprint != one.fingerprint and (one.message, one.fix) == ("a", "")


def test_secrets_are_masked_where_we_know_them_and_where_devices_print_them() -> None:
    text = "enable secret 5 $1$abc\nkey 7 0822455D0A16\nsays hunter2hunter2 and hunter2\nip access-list abc\n"
    assert redact(text, ["hunter2", "abc", "hunter2hunter2"]) == (
        f"enable secret 5 {MASK}\nkey 7 {MASK}\nsays {MASK} and {MASK}\nip access-list abc\n"
    )
    assert redact("x abcd y", ["abcd"]) == f"x {MASK} y"
