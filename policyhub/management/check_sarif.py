"""The report of `policyhub check` as SARIF 2.1.0, for code scanning pages."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from policyhub.checks.registry import Check, all_checks
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.management.check_audit import Device, Report
from policyhub.management.check_words import ENGLISH, Words

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}
RANKS = {Severity.CRITICAL: "9.5", Severity.HIGH: "8.0", Severity.MEDIUM: "5.0", Severity.LOW: "3.0", Severity.INFO: "0.0"}


SKIPPED = gettext_noop("skipped %(file)s: %(reason)s")


def as_sarif(report: Report, words: Words = ENGLISH) -> str:
    """One run; a result per finding, at the file and line where the rule stands."""
    checks = all_checks()
    index = {check.code: number for number, check in enumerate(checks)}
    notes = [{"level": "warning", "message": {"text": text}} for text in notices(report, words)]
    run = {
        "tool": {
            "driver": {"name": "policyhub", "version": version("policyhub"), "rules": [_rule(one, words) for one in checks]}
        },
        "language": words.tag,
        "columnKind": "unicodeCodePoints",
        "results": [_result(device, finding, index, words) for device, finding in report.findings],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1) + "\n"


def notices(report: Report, words: Words) -> list[str]:
    """What was skipped, and counters that were read in part, a sentence each."""
    skipped = [words.read(Message(SKIPPED, {"file": one.file, "reason": one.said})) for one in report.skipped]
    return [*skipped, *(f"{one.file}: {words.read(one.said)}" for one in report.unread)]


def _rule(check: Check, words: Words) -> dict[str, Any]:
    return {
        "id": check.code,
        "name": check.name,
        "shortDescription": {"text": words.gettext(check.title)},
        "fullDescription": {"text": words.gettext(check.why)},
        "help": {"text": words.gettext(check.fix)},
        "defaultConfiguration": {"level": LEVELS[check.severity]},
        "properties": {"security-severity": RANKS[check.severity]},
    }


def _result(device: Device, finding: Finding, index: dict[str, int], words: Words) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.rule or finding.policy}: {words.read(finding.said)}"},
        "locations": [_location(device, line) for line in finding.lines[:1] or (1,)],
        "partialFingerprints": {"policyhub/v1": finding.fingerprint},
        "properties": {
            "severity": finding.severity.value,
            "device": finding.device,
            "policy": finding.policy,
            "rule": finding.rule,
            "by": list(finding.by),
            "evidence": dict(finding.evidence),
        },
    }


def _location(device: Device, line: int) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": _uri(device.file)}, "region": {"startLine": max(line, 1)}}
    return {"physicalLocation": place}


def _uri(file: str) -> str:
    """Relative reference, or file: for an absolute path."""
    quoted = quote(file.replace("\\", "/"))
    return f"file://{quoted}" if quoted.startswith("/") else quoted
