"""The report of `policyhub check` as text, JSON (`policyhub.check/1`) and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import gettext_noop
from policyhub.domain.terminal import columns, padded
from policyhub.management.check_audit import Device, Report
from policyhub.management.check_words import ENGLISH, Words
from policyhub.management.terminal import plain

COLUMNS = ("severity", "code", "name", "device", "file", "policy", "rule", "lines", "by", "message", "evidence", "fix")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
CUT = gettext_noop("the text was cut at line %(line)d: read it from the device again, whole")
GROUPED = frozenset({"no-hit-evidence", "unlogged-rule", "disabled-rule"})  # many rules, one reason: one row in the text


def as_json(report: Report, words: Words = ENGLISH) -> str:
    """`policyhub.check/1` of the contract, in English whatever the language; each finding has its file, too."""
    parts = {
        "schema": json.dumps("policyhub.check/1"),
        "window_days": json.dumps(report.window_days),
        "devices": _lines(_device(device) for device in report.devices),
        "findings": _lines(_finding(device, finding) for device, finding in report.findings),
        "skipped": _lines({"file": skipped.file, "reason": skipped.reason} for skipped in report.skipped),
        "hits_unread": _lines(
            {"file": unread.file, "line": line.line, "text": line.text, "reason": line.reason}
            for unread in report.unread
            for line in unread.lines
        ),
    }
    return "{\n" + ",\n".join(f'"{key}": {value}' for key, value in parts.items()) + "\n}\n"


def _lines(values: Iterable[dict[str, Any]]) -> str:
    """A JSON list with one value per line: quick to write, and `grep` and `diff` can read it."""
    return "[" + ",\n ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]"


def _device(device: Device) -> dict[str, Any]:
    config = device.config
    return {
        "file": device.file,
        "platform": config.platform,
        "hostname": config.hostname,
        "rules": config.rule_count,
        "qos_policies": len(config.qos_policies),
        "lines": config.lines,
        "ignored": len(config.ignored),
        "unparsed": [{"line": line.line, "text": line.text, "reason": line.reason} for line in config.unparsed],
        "hit_samples": len(device.samples),
    }


def _finding(device: Device, finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "device": finding.device,
        "file": device.file,
        "policy": finding.policy,
        "rule": finding.rule,
        "lines": list(finding.lines),
        "by": list(finding.by),
        "message": finding.message,
        "evidence": dict(finding.evidence),
        "fix": finding.fix,
    }


def as_csv(report: Report, words: Words = ENGLISH) -> str:
    """One row per finding, in English as the JSON. A cell that a spreadsheet would take for a formula gets a ' in front."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for device, finding in report.findings:
        row = _finding(device, finding)
        row["lines"] = " ".join(str(line) for line in finding.lines)
        row["by"] = "; ".join(finding.by)
        row["evidence"] = json.dumps(row["evidence"], ensure_ascii=False)
        writer.writerow([_harmless(str(row[column])) for column in COLUMNS])
    return out.getvalue()


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA) or cell.startswith(FORMULA) else cell


def as_text(report: Report, words: Words = ENGLISH) -> str:
    """For people: devices, findings (worst first), what to do, what was skipped, one line of sums."""
    lines: list[str] = []
    for device in report.devices:
        lines += [_head(device, words), *_rows(device.findings, words), ""]
    lines += _advice(report, words)
    if report.skipped:
        skipped = (f"  {s.file}: {words.read(s.said)}" for s in report.skipped)
        lines += [words.gettext("Skipped, so this is a partial result:"), *skipped, ""]
    if report.unread:
        unread = (f"  {plain(one.file)}: {words.read(one.said)}" for one in report.unread)
        lines += [words.gettext("Counters and logs that were read in part:"), *unread, ""]
    return "\n".join([*lines, _sums(report, words), ""])


def figures(device: Device, words: Words) -> list[str]:
    """What the configuration holds, in words."""
    config = device.config
    parts = [
        words.ngettext("%(n)d rule", "%(n)d rules", config.rule_count),
        words.ngettext("%(n)d QoS policy", "%(n)d QoS policies", len(config.qos_policies)),
        words.ngettext("%(n)d line", "%(n)d lines", config.lines),
    ]
    if config.unparsed:
        parts.append(words.ngettext("%(n)d line not understood", "%(n)d lines not understood", len(config.unparsed)))
    if device.samples:
        parts.append(words.ngettext("%(n)d reading of counters", "%(n)d readings of counters", len(device.samples)))
    return parts


def _head(device: Device, words: Words) -> str:
    parts = figures(device, words)
    if device.config.unparsed:
        first = ", ".join(str(line.line) for line in device.config.unparsed[:5])
        parts[3] += words.gettext(" (first: %(lines)s)") % {"lines": first}
        cut = next((line.line for line in device.config.unparsed if line.is_cut), None)
        if cut is not None:
            parts.append(words.gettext(CUT) % {"line": cut})
    # a file without a hostname is called by its path already
    names = [device.label, device.config.platform, *([device.file] if device.config.hostname else [])]
    return f"{'  '.join(plain(name) for name in names)}\n  {', '.join(parts)}"


def _rows(findings: Iterable[Finding], words: Words) -> list[str]:
    rows: list[str] = []
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        key = (finding.name, finding.policy, finding.message if finding.name in GROUPED else finding.fingerprint)
        groups.setdefault(key, []).append(finding)
    width = max([16, *(columns(words.check(name)) for name, _, _ in groups)])
    for group in groups.values():
        first = group[0]
        where = first.rule or first.policy
        if len(group) > 1:
            values = {"policy": first.policy, "count": len(group), "rule": first.rule}
            where = words.gettext("%(policy)s: %(count)d rules, first %(rule)s") % values
        line = words.gettext(" (line %(line)d)") % {"line": first.lines[0]} if first.lines else ""
        place = where if where.startswith(first.policy) else f"{first.policy} / {where}"
        severity = padded(words.severity(first.severity).upper(), 8)
        name, said = padded(words.check(first.name), width), plain(words.read(first.said))
        rows.append(f"  {severity} {first.code} {name} {plain(place)}{line}: {said}")
    return rows or [f"  {words.gettext('nothing found')}"]


def _advice(report: Report, words: Words) -> list[str]:
    fixes = {finding.name: finding.advice for _, finding in report.findings if finding.severity is not Severity.INFO}
    if not fixes:
        return []
    return [
        words.gettext("What to do:"),
        *(f"  {words.check(name)}: {words.read(fix)}" for name, fix in sorted(fixes.items())),
        "",
    ]


def _sums(report: Report, words: Words) -> str:
    counts = Counter(finding.severity for _, finding in report.findings)
    found = ", ".join(f"{counts[severity]} {words.severity(severity)}" for severity in Severity if counts[severity])
    said = words.ngettext("%%(found)s in %(n)d device", "%%(found)s in %(n)d devices", len(report.devices))
    return said % {"found": found or words.gettext("nothing found")}
