"""The report of `policyhub check` as text, JSON (`policyhub.check/1`) and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from policyhub.domain.finding import Finding, Severity
from policyhub.management.check_audit import Device, Report

COLUMNS = ("severity", "code", "name", "device", "file", "policy", "rule", "lines", "by", "message", "evidence", "fix")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
GROUPED = frozenset({"no-hit-evidence", "unlogged-rule", "disabled-rule"})  # many rules, one reason: one row in the text


def as_json(report: Report) -> str:
    """`policyhub.check/1` of the contract; each finding has its file, too."""
    parts = {
        "schema": json.dumps("policyhub.check/1"),
        "window_days": json.dumps(report.window_days),
        "devices": _lines(_device(device) for device in report.devices),
        "findings": _lines(_finding(device, finding) for device, finding in report.findings),
        "skipped": _lines({"file": skipped.file, "reason": skipped.reason} for skipped in report.skipped),
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


def as_csv(report: Report) -> str:
    """One row per finding. A cell that a spreadsheet would take for a formula is written with a ' in front."""
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


def as_text(report: Report) -> str:
    """For people: devices, findings (worst first), what to do, what was skipped, one line of sums."""
    lines: list[str] = []
    for device in report.devices:
        lines += [_head(device), *_rows(device.findings), ""]
    lines += _advice(report)
    if report.skipped:
        lines += ["Skipped, so this is a partial result:", *(f"  {s.file}: {s.reason}" for s in report.skipped), ""]
    return "\n".join([*lines, _sums(report), ""])


def _head(device: Device) -> str:
    config = device.config
    parts = [f"{config.rule_count} rules", f"{len(config.qos_policies)} QoS policies", f"{config.lines} lines"]
    if config.unparsed:
        first = ", ".join(str(line.line) for line in config.unparsed[:5])
        parts.append(f"{len(config.unparsed)} lines not understood (first: {first})")
    if device.samples:
        parts.append(f"{len(device.samples)} reading{'s' * (len(device.samples) > 1)} of counters")
    return f"{_plain(device.label)}  {config.platform}  {_plain(device.file)}\n  {', '.join(parts)}"


def _rows(findings: Iterable[Finding]) -> list[str]:
    rows: list[str] = []
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        key = (finding.name, finding.policy, finding.message if finding.name in GROUPED else finding.fingerprint)
        groups.setdefault(key, []).append(finding)
    for group in groups.values():
        first = group[0]
        where = first.rule or first.policy
        if len(group) > 1:
            where = f"{first.policy}: {len(group)} rules, first {first.rule}"
        line = f" (line {first.lines[0]})" if first.lines else ""
        place = where if where.startswith(first.policy) else f"{first.policy} / {where}"
        rows.append(
            f"  {first.severity.value.upper():8} {first.code} {first.name:16} {_plain(place)}{line}: {_plain(first.message)}"
        )
    return rows or ["  nothing found"]


def _advice(report: Report) -> list[str]:
    fixes = {finding.name: finding.fix for _, finding in report.findings if finding.severity is not Severity.INFO}
    if not fixes:
        return []
    return ["What to do:", *(f"  {name}: {fix}" for name, fix in sorted(fixes.items())), ""]


def _sums(report: Report) -> str:
    counts = Counter(finding.severity for _, finding in report.findings)
    found = ", ".join(f"{counts[severity]} {severity.value}" for severity in Severity if counts[severity]) or "nothing found"
    devices = len(report.devices)
    return f"{found} in {devices} device{'s' * (devices != 1)}"


def _plain(text: str) -> str:
    """Without control characters: names come from files, and a terminal obeys escapes."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
