"""The report of `policyhub check` as one HTML page that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape

from policyhub.checks.evidence import Fact, facts
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message
from policyhub.management.check_audit import Device, Report
from policyhub.management.check_reports import figures
from policyhub.management.check_words import ENGLISH, Words

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
dl{display:grid;grid-template-columns:fit-content(16rem) 1fr;gap:.2rem 1rem;margin:.4rem 0}dt{color:var(--soft)}dd{margin:0}
summary{cursor:pointer;color:var(--soft)}.sums .s{margin-right:.5rem;min-width:0}
"""


def as_html(report: Report, words: Words = ENGLISH) -> str:
    """Self-contained: no script, no picture, nothing fetched. Everything from files is escaped."""
    counts = Counter(finding.severity for _, finding in report.findings)
    sums = "".join(f'<span class="s {s.value}">{counts[s]} {words.severity(s)}</span>' for s in Severity if counts[s])
    title = escape(words.gettext("PolicyHub check"))
    parts = [
        f'<!doctype html><html lang="{words.tag}"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>",
        f'<p class="sums">{sums or words.gettext("nothing found")}</p>',
        *(_device(device, words) for device in report.devices),
        _skipped(report, words),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _device(device: Device, words: Words) -> str:
    config = device.config
    # a file without a hostname is called by its path already
    file = [escape(device.file)] if config.hostname else []
    about = " · ".join([config.platform, *file, *figures(device, words)])
    heads = ("Severity", "Check", "Rule", "Lines", "What was found")
    head = "".join(f"<th>{words.gettext(text)}</th>" for text in heads)
    rows = "".join(_row(finding, words) for finding in device.findings)
    table = f"<table><tr>{head}</tr>{rows}</table>" if rows else f"<p>{words.gettext('nothing found')}</p>"
    unparsed = "".join(f"{line.line}: {escape(line.text)}\n" for line in config.unparsed)
    title = words.gettext("Lines that are not understood")
    kept = f"<details><summary>{title}</summary><pre>{unparsed}</pre></details>" if unparsed else ""
    return f'<h2>{escape(device.label)}</h2><p class="soft">{about}</p>{table}{kept}'


def _row(finding: Finding, words: Words) -> str:
    rows = [f"<dt>{words.gettext('Because of')}</dt><dd>{_codes(finding.by)}</dd>"] if finding.by else []
    for fact in facts(finding.evidence):
        label = words.gettext(fact.label) if fact.known else fact.label
        rows.append(f"<dt>{escape(label)}</dt><dd>{_value(fact, words)}</dd>")
    title, advice = words.gettext("Evidence and advice"), escape(words.read(finding.advice))
    details = f"<details><summary>{title}</summary><dl>{''.join(rows)}</dl><p>{advice}</p></details>"
    severity = finding.severity
    return (
        f'<tr><td><span class="s {severity.value}">{words.severity(severity)}</span></td>'
        f'<td class="n">{finding.code} {escape(words.check(finding.name))}</td>'
        f"<td><code>{escape(finding.rule or finding.policy)}</code></td><td>{' '.join(map(str, finding.lines[:3]))}</td>"
        f"<td>{escape(words.read(finding.said))}{details}</td></tr>"
    )


def _value(fact: Fact, words: Words) -> str:
    """Escaped; what the device does not say is a dash, never 0."""
    match fact.form:
        case "unknown":
            return "—"
        case "time":
            return f"{fact.value:%Y-%m-%d %H:%M} UTC"
        case "flag":
            return words.gettext("yes") if fact.value else words.gettext("no")
        case "word":
            return escape(words.gettext(fact.value))
        case "count":
            return f"{fact.value:,}"
        case "bits":
            return f"2<sup>{fact.value:g}</sup>"
        case "names":
            return _codes(fact.value) if fact.value else words.gettext("none")
        case "pairs":
            return _codes(f"{key} {value}" for key, value in fact.value)
    return f"<code>{escape(str(fact.value))}</code>"


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"<code>{escape(name)}</code>" for name in names)


def _skipped(report: Report, words: Words) -> str:
    parts = (
        (words.gettext("Skipped, so this is a partial result:"), [(one.file, one.said) for one in report.skipped]),
        (words.gettext("Counters and logs that were read in part:"), [(one.file, one.said) for one in report.unread]),
    )
    return "".join(f"<h2>{title}</h2><ul>{_told(rows, words)}</ul>" for title, rows in parts if rows)


def _told(rows: Iterable[tuple[str, Message]], words: Words) -> str:
    return "".join(f"<li><code>{escape(file)}</code>: {escape(words.read(said))}</li>" for file, said in rows)
