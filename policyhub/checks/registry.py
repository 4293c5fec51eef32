"""The table of checks. A check is found by its module's place in this package, and documents itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, cast

from policyhub.checks.context import Context
from policyhub.checks.one_cause import one_cause
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.errors import BadInput
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import QosPolicy
from policyhub.domain.rules import Policy

SECTIONS = ("Why it matters", "Example", "Suggested change")
NOT_CHECKS = (
    "registry", "context", "catalogue", "history", "breadth", "occasion", "seen_flows", "wording", "texts", "evidence",
    "one_cause",
)  # fmt: skip
Body = Callable[..., Iterator[Finding]]
_SUBJECTS = {"Policy": Policy, "QosPolicy": QosPolicy, "DeviceConfig": DeviceConfig}


class BadCheck(Exception):
    """A check is not written as the registry needs it: a mistake of the programmer, not of the user."""


@dataclass(frozen=True, slots=True)
class Check:
    """One registered check. subject: what it is called with: every Policy, every QosPolicy, or the DeviceConfig once."""

    code: str
    name: str
    severity: Severity
    subject: type[Policy] | type[QosPolicy] | type[DeviceConfig]
    body: Body
    wants_context: bool
    title: str
    why: str
    example: str
    fix: str

    def __call__(self, subject: Policy | QosPolicy | DeviceConfig, context: Context) -> Iterator[Finding]:
        return self.body(subject, context) if self.wants_context else self.body(subject)

    def finding(
        self,
        policy: str,
        rule: str,
        lines: Iterable[int],
        said: Message,
        *,
        evidence: dict[str, Any] | None = None,
        by: Iterable[str] = (),
        severity: Severity | None = None,
        advice: Message | None = None,
    ) -> Finding:
        """A finding of this check; severity and advice are the check's own unless given. evidence: plain JSON values."""
        return Finding(
            self.code, self.name, severity or self.severity, policy, rule, tuple(lines), said,
            evidence or {}, tuple(by), advice or Message(self.fix),
        )  # fmt: skip


def check(code: str, name: str, *, severity: Severity) -> Callable[[Body], Check]:
    """Registers a function `(subject)` or `(subject, context)`; the subject's annotation says what it is called with.

    Its docstring: one line that says what is wrong, then the paragraphs "Why it matters:", "Example:", "Suggested change:".
    """

    def register(body: Body) -> Check:
        parameters = list(inspect.signature(body).parameters.values())
        subject = _SUBJECTS.get(str(parameters[0].annotation))
        if subject is None or len(parameters) > 2:
            raise BadCheck(f"{name}: the first parameter must be one of {', '.join(_SUBJECTS)}, the second the context")
        title, texts = _read_doc(name, body)
        return Check(code, name, severity, subject, body, len(parameters) == 2, title, *texts)

    return register


def _read_doc(name: str, body: Body) -> tuple[str, list[str]]:
    doc = inspect.getdoc(body) or ""
    texts = []
    for section in SECTIONS:
        found = re.search(rf"^{section}: (.+?)(?=^(?:{'|'.join(SECTIONS)}): |\Z)", doc, re.MULTILINE | re.DOTALL)
        if found is None:
            raise BadCheck(f"{name}: the docstring has no paragraph {section!r}")
        text = " ".join(found.group(1).split())
        texts.append(text[0].upper() + text[1:])
    return doc.splitlines()[0], texts


def all_checks() -> tuple[Check, ...]:
    """Every check of this package, by code. Raises BadCheck when a code or name stands twice."""
    package = import_module("policyhub.checks")
    found: dict[str, Check] = {}
    names: set[str] = set()
    for module in iter_modules(package.__path__):
        if module.name in NOT_CHECKS:
            continue
        for value in vars(import_module(f"policyhub.checks.{module.name}")).values():
            if isinstance(value, Check) and found.get(value.code) is not value:
                if value.code in found or value.name in names:
                    raise BadCheck(f"{value.code} {value.name} is registered twice")
                found[value.code] = value
                names.add(value.name)
    return tuple(found[code] for code in sorted(found))


def select(names: Iterable[str] | None) -> tuple[Check, ...]:
    """The checks with these names or codes; all when None. Raises BadInput naming the known ones."""
    checks = all_checks()
    if names is None:
        return checks
    known = {key: one for one in checks for key in (one.name, one.code)}
    unknown = [name for name in names if name not in known]
    if unknown:
        said = gettext_noop("no check is called %(name)r. Known: %(known)s")
        raise BadInput.of(said, name=unknown[0], known=", ".join(one.name for one in checks))
    wanted = {known[name].code for name in names}
    return tuple(one for one in checks if one.code in wanted)


def run_checks(context: Context, checks: Iterable[Check]) -> tuple[Finding, ...]:
    """All findings of one device, worst first, then by policy, line and code; the order is stable. One rule, one root cause."""
    device = context.device
    subjects: dict[type, tuple[Any, ...]] = {Policy: device.policies, QosPolicy: device.qos_policies, DeviceConfig: (device,)}
    labels = _labels(device.policies)
    found = [
        replace(finding, device=device.hostname, policy=labels.get(id(subject), finding.policy))
        for one in checks
        for subject in subjects[cast(type, one.subject)]
        for finding in one(subject, context)
    ]
    return tuple(sorted(one_cause(found), key=lambda f: (-f.severity.rank, f.policy, f.lines, f.code, f.rule)))


def _labels(policies: Iterable[Policy]) -> dict[int, str]:
    """Names for policies that share one: a router may have an IPv4 and an IPv6 list called alike, and both have a rule 10."""
    labels: dict[int, str] = {}
    taken: set[str] = set()
    for policy in policies:
        label = policy.name
        if label in taken and policy.family == 6:
            label = f"{policy.name} (IPv6)"
        number = 2
        while label in taken:
            label, number = f"{policy.name} ({number})", number + 1
        taken.add(label)
        labels[id(policy)] = label
    return labels
