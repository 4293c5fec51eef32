"""One rule, one root cause: of several findings about a rule the one stays whose cure makes the others go.

A rule that no packet reaches (shadowed, already said above, expired) opens nothing, so its width and its missing log are not
told. A permit for everything is told once, not also as too wide. A rule that is proved unused still stands open: what it opens is
told inside its zombie-rule finding, which is then as severe as the worse of the two. Only findings of the same run count: a check
that was not asked for hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from policyhub.domain.finding import Finding
from policyhub.domain.message import Message, gettext_noop

REACHED_BY_NOTHING = frozenset({"shadowed-rule", "redundant-rule", "expired-rule"})
WIDTH = ("any-any", "overbroad-rule")  # worst first
MOOT = frozenset({*WIDTH, "unlogged-rule"})
UNUSED = "zombie-rule"
AND_OPEN = gettext_noop("%(unused)s; and it stands open: %(width)s")
Told = Mapping[str, Finding]  # what is told of one rule, by the check's name


def one_cause(findings: Iterable[Finding]) -> list[Finding]:
    """The same findings in the same order without those that another finding about their rule explains."""
    found = list(findings)
    told: dict[tuple[str, str], dict[str, Finding]] = {}
    for finding in found:
        if finding.rule:
            told.setdefault((finding.policy, finding.rule), {})[finding.name] = finding
    kept = []
    for finding in found:
        others = told.get((finding.policy, finding.rule), {})
        if not _is_explained(finding, others):
            kept.append(_with_width(finding, others) if finding.name == UNUSED else finding)
    return kept


def _is_explained(finding: Finding, others: Told) -> bool:
    if finding.name in MOOT and any(_is_unreached(other) for other in others.values()):
        return True
    return finding.name in WIDTH and (UNUSED in others or _widest(others) is not finding)


def _is_unreached(finding: Finding) -> bool:
    """Redundant because of *later* rules is reached by packets all the same."""
    return finding.name in REACHED_BY_NOTHING and finding.evidence.get("direction") != "down"


def _widest(others: Told) -> Finding | None:
    return next((others[name] for name in WIDTH if name in others), None)


def _with_width(unused: Finding, others: Told) -> Finding:
    width = _widest(others)
    if width is None or width.severity.rank < unused.severity.rank or any(map(_is_unreached, others.values())):
        return unused  # a list that is bound nowhere opens nothing
    return replace(
        unused,
        severity=width.severity,
        said=Message(AND_OPEN, {"unused": unused.said, "width": width.said}),
        evidence={**width.evidence, **unused.evidence},
    )
