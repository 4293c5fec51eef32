"""The report of `policyhub check` as one HTML page that needs nothing else."""

from __future__ import annotations

import json
from collections import Counter
from html import escape

from policyhub.domain.finding import Finding, Severity
from policyhub.management.check_audit import Device, Report

STYLE = """
:root{color-scheme:light dark;--line:#d5d9e0;--soft:#6b7280;--bg:#fff;--fg:#1c2430}
@media(prefers-color-scheme:dark){:root{--line:#39414d;--soft:#9aa4b2;--bg:#14181f;--fg:#e6e9ee}}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;background:var(--bg);color:var(--fg)}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}.soft{color:var(--soft)}
table{border-collapse:collapse;width:100%}th{font-weight:600;color:var(--soft)}
th,td{text-align:left;vertical-align:top;padding:.45rem .6rem;border-top:1px solid var(--line)}td.n{white-space:nowrap}
code,pre{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}pre{white-space:pre-wrap;margin:.4rem 0}
.s{display:inline-block;min-width:4.6rem;padding:0 .5rem;border-radius:.6rem;color:#fff;text-align:center}
.critical{background:#8b1026}.high{background:#c0392b}.medium{background:#b06a00}.low{background:#2f6f9f}.info{background:#68707c}
summary{cursor:pointer;color:var(--soft)}.sums .s{margin-right:.5rem;min-width:0}
"""


def as_html(report: Report) -> str:
    """Self-contained: no script, no picture, nothing fetched. Everything from files is escaped."""
    counts = Counter(finding.severity for _, finding in report.findings)
    sums = "".join(f'<span class="s {s.value}">{counts[s]} {s.value}</span>' for s in Severity if counts[s])
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>PolicyHub check</title><style>{STYLE}</style></head><body><h1>PolicyHub check</h1>",
        f'<p class="sums">{sums or "nothing found"}</p>',
        *(_device(device) for device in report.devices),
        _skipped(report),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _device(device: Device) -> str:
    config = device.config
    facts = f"{config.platform} · {escape(device.file)} · {config.rule_count} rules · {len(config.qos_policies)} QoS policies"
    facts += f" · {config.lines} lines · {len(config.unparsed)} not understood · {len(device.samples)} reading(s) of counters"
    rows = "".join(_row(finding) for finding in device.findings)
    table = (
        f"<table><tr><th>severity</th><th>check</th><th>rule</th><th>line</th><th>what</th></tr>{rows}</table>" if rows else ""
    )
    unparsed = "".join(f"{line.line}: {escape(line.text)}\n" for line in config.unparsed)
    kept = f"<details><summary>Lines not understood</summary><pre>{unparsed}</pre></details>" if unparsed else ""
    return f'<h2>{escape(device.label)}</h2><p class="soft">{facts}</p>{table or "<p>nothing found</p>"}{kept}'


def _row(finding: Finding) -> str:
    evidence = escape(json.dumps(dict(finding.evidence), ensure_ascii=False, indent=1))
    by = f"<p>by: {escape(', '.join(finding.by))}</p>" if finding.by else ""
    details = f"<details><summary>evidence and advice</summary>{by}<pre>{evidence}</pre><p>{escape(finding.fix)}</p></details>"
    severity = finding.severity.value
    return (
        f'<tr><td><span class="s {severity}">{severity}</span></td><td class="n">{finding.code} {finding.name}</td>'
        f"<td><code>{escape(finding.rule or finding.policy)}</code></td><td>{' '.join(map(str, finding.lines[:3]))}</td>"
        f"<td>{escape(finding.message)}{details}</td></tr>"
    )


def _skipped(report: Report) -> str:
    if not report.skipped:
        return ""
    rows = "".join(f"<li><code>{escape(s.file)}</code>: {escape(s.reason)}</li>" for s in report.skipped)
    return f"<h2>Skipped: this is a partial result</h2><ul>{rows}</ul>"
