"""The state machine, the reading of a push, and the plan lint: pure, tested to the last pair."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyhub.domain.change import ChangeKind, Commands, GuardSpec, GuardState, PushOutcome
from policyhub.domain.change_outcome import GuardPicture, is_taken_back, judge_push, mentions
from policyhub.domain.change_states import (
    CANCELLABLE,
    FINAL,
    FOLLOWS,
    MAY_HAVE_SENT,
    REVERTIBLE,
    WORKING,
    ChangeState,
    may_follow,
)
from policyhub.domain.errors import PlanRefused
from policyhub.domain.plan_lint import Limits, lint, lint_lines
from policyhub.models import Change

S = ChangeState
SPEC = GuardSpec("PHG-CORE1", ("eth0",), frozenset({46}))
LIMITS = Limits(20, "show running-config", (r"show policy-map interface \S+ input",))
WAY = [S.PROPOSED, S.APPROVED, S.PREFLIGHT, S.ARMED, S.PUSHING, S.PUSHED, S.VERIFIED, S.CONFIRMED]


def owns_all(line, spec):
    return True


def test_domain_and_table_know_the_same_states():
    assert [state.value for state in ChangeState] == Change.State.values == [state.value for state in FOLLOWS]


@pytest.mark.parametrize(("before", "after"), list(itertools.product(ChangeState, repeat=2)))
def test_every_pair_of_states_is_decided_by_the_rules_of_the_push(before, after):
    allowed = may_follow(before, after)
    if allowed and after == S.PUSHING:
        assert before == S.ARMED, "lines leave only when the inverse is ready"
    if allowed and after in (S.VERIFIED, S.REVERTED):
        assert before in MAY_HAVE_SENT
    if allowed and after in (S.FAILED, S.CANCELLED):
        assert before not in MAY_HAVE_SENT or before == S.PUSHED, "failed means nothing applied, so it was read back"
    if before == S.PUSHING:
        assert allowed == (after == S.PUSHED), "after a push the device is read before anything is decided"
    if before in FINAL:
        assert not allowed
    if before in WAY and WAY.index(before) + 1 < len(WAY):
        assert may_follow(before, WAY[WAY.index(before) + 1])
    assert not (allowed and before == after)


def test_every_state_is_reached_and_no_working_state_is_a_dead_end():
    reached = set().union(*FOLLOWS.values())
    assert reached | {S.DRAFT} == set(ChangeState)
    for state in WORKING:
        seen, queue = set(), [state]
        while queue:
            here = queue.pop()
            seen.add(here)
            queue += [after for after in FOLLOWS[here] if after not in seen]
        assert seen & (FINAL | {S.CONFIRMED, S.REVERT_FAILED})
    assert all(may_follow(state, S.REVERTING) for state in REVERTIBLE)
    assert all(may_follow(state, S.CANCELLED) for state in CANCELLABLE)


def picture(members=(), *, installed=True, intact=True, lines=9):
    return GuardPicture(installed, intact, frozenset(members), lines if installed else 0)


@pytest.mark.parametrize(
    ("kind", "before", "now", "outcome"),
    [
        (ChangeKind.MEMBER_ADD, picture(), picture(["10.0.0.1/32"], lines=10), PushOutcome.APPLIED),
        (ChangeKind.MEMBER_ADD, picture(), picture(), PushOutcome.NOT_APPLIED),
        (ChangeKind.MEMBER_ADD, picture(), picture(["10.0.0.1/32"], intact=False), PushOutcome.PARTIAL),
        (ChangeKind.MEMBER_ADD, picture(["10.0.0.9/32"]), picture(["10.0.0.1/32"]), PushOutcome.PARTIAL),
        (ChangeKind.MEMBER_REMOVE, picture(["10.0.0.1/32"]), picture(), PushOutcome.APPLIED),
        (ChangeKind.GUARD_INSTALL, picture(installed=False, intact=False), picture(), PushOutcome.APPLIED),
        (ChangeKind.GUARD_INSTALL, picture(installed=False, intact=False), picture(intact=False), PushOutcome.PARTIAL),
        (
            ChangeKind.GUARD_INSTALL,
            GuardPicture(False, False, frozenset(), 0),
            GuardPicture(False, False, frozenset(), 2),
            PushOutcome.PARTIAL,
        ),
        (ChangeKind.GUARD_REMOVE, picture(["10.0.0.1/32"]), picture(installed=False, intact=False), PushOutcome.APPLIED),
        (ChangeKind.GUARD_REMOVE, picture(), picture(intact=False, lines=3), PushOutcome.PARTIAL),
    ],
)
def test_reading_back_tells_applied_not_applied_and_partial(kind, before, now, outcome):
    assert judge_push(kind, "10.0.0.1/32" if "member" in kind else None, before, now) is outcome


def test_taken_back_looks_at_this_change_only():
    before = picture()
    assert is_taken_back(ChangeKind.MEMBER_ADD, "10.0.0.1/32", before, picture(["10.0.0.2/32"]))
    assert not is_taken_back(ChangeKind.MEMBER_ADD, "10.0.0.1/32", before, picture(["10.0.0.1/32"]))
    nothing = picture(installed=False, intact=False)
    assert is_taken_back(ChangeKind.GUARD_INSTALL, None, nothing, nothing)
    assert not is_taken_back(ChangeKind.GUARD_INSTALL, None, nothing, GuardPicture(False, False, frozenset(), 1))


@given(st.booleans(), st.booleans(), st.frozensets(st.sampled_from(["10.0.0.1/32", "2001:db8::/64"])), st.integers(0, 99))
def test_picture_survives_its_text(installed, intact, members, count):
    whole = GuardPicture(installed, installed and intact, members, count)
    assert GuardPicture.of_text(whole.text) == whole


def test_mentions_see_both_spellings_and_no_longer_name():
    text = "class-map PHG-CORE1\ntable inet phg_core1 {\nclass-map PHG-CORE12\nacl PHG-CORE1-V6\ndescription XPHG-CORE1"
    assert mentions(SPEC, text) == 3
    state = GuardState(True, True, frozenset(), "x")
    assert GuardPicture.of(state, SPEC, text).mentions == 3


DENIED = [
    "no interface Te1/0/2",
    "undo interface Vlanif10",
    "no vlan 10",
    " shutdown",
    "undo shutdown",
    "reload",
    "erase startup-config",
    "default interface Gi1/0/1",
    "no aaa new-model",
    "no username ops",
    "line vty 0 4",
    "nft flush ruleset",
    "write memory",
    "save",
    "hostname x",
    "copy run start",
    "nft -f /tmp/x",
    "no ip route 0.0.0.0 0.0.0.0 Null0",
    "undo vlan 3",
    "rm -rf /",
]


@pytest.mark.parametrize("line", DENIED)
def test_denied_line_never_leaves_even_when_the_renderer_claims_it(line):
    for commands in (Commands((line,), ("quit",), ()), Commands(("quit",), (line,), ())):
        with pytest.raises(PlanRefused, match="never leave"):
            lint(ChangeKind.MEMBER_ADD, SPEC, commands, owns_all, LIMITS)


@given(st.text(max_size=60), st.sampled_from(DENIED), st.sampled_from(["\n", "\r", "\x00", ";", "`", "$(", "&&", "||", ">"]))
def test_no_smuggled_line_passes(prefix, line, glue):
    with pytest.raises(PlanRefused):
        lint_lines(SPEC, [f"{prefix}{glue}{line}"], lambda text, spec: text == "permit ip host 10.0.0.1 any")


@pytest.mark.parametrize("line", ["Error: could not render", "permit ip any any", "interface Gi9/0/9", "", " " * 3, "x" * 500])
def test_line_that_is_not_ours_is_refused(line):
    with pytest.raises(PlanRefused):
        lint_lines(SPEC, [line], lambda text, spec: text.startswith("permit ip host"))


def test_plan_without_inverse_with_too_many_lines_or_with_a_foreign_read_is_refused():
    with pytest.raises(PlanRefused, match="no inverse"):
        lint(ChangeKind.MEMBER_ADD, SPEC, Commands(("a",), (), ()), owns_all, LIMITS)
    with pytest.raises(PlanRefused, match="21 lines"):
        lint(ChangeKind.MEMBER_ADD, SPEC, Commands(("a",) * 21, ("b",), ()), owns_all, LIMITS)
    with pytest.raises(PlanRefused, match="read"):
        lint(ChangeKind.MEMBER_ADD, SPEC, Commands(("a",), ("b",), ("show tech | redirect x",)), owns_all, LIMITS)
    lint(ChangeKind.MEMBER_ADD, SPEC, Commands(("a",) * 20 + ("quit",) * 5, ("b",), ("show running-config",)), owns_all, LIMITS)
