"""The few tags all pages share: icons, severity, marks, states, times, numbers, the unknown dash."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from policyhub.checks import evidence
from policyhub.console import audit_words, changes_view, frame, labels, units
from policyhub.domain.qos import dscp_name, phb_of
from policyhub.domain.redaction import redact
from policyhub.models import AuditEntry
from policyhub.models.findings import SEVERITIES

register = template.Library()
SEVERITY_LABELS = dict(SEVERITIES)


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """A symbol of the sprite; decoration only, so hidden from screen readers."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        css,
        static("console/icons.svg"),
        name,
    )


@register.simple_tag
def severity(value: str) -> SafeString:
    """Shape and colour and word."""
    return format_html('<span class="sev sev-{}">{}{}</span>', value, icon(f"sev-{value}"), SEVERITY_LABELS.get(value, value))


@register.simple_tag
def dscp(value: int) -> SafeString:
    """A mark as name and number; one colour per family everywhere."""
    name = dscp_name(value)
    text = name if name == str(value) else f"{name}\u00a0{value}"
    return format_html('<span class="mark mark-{}">{}</span>', phb_of(value).lower(), text)


@register.simple_tag
def pill(value: str, label: Any = "") -> SafeString:
    return format_html('<span class="pill pill-{}">{}</span>', labels.tone(value), label or value)


@register.simple_tag
def unknown(reason: str = "") -> SafeString:
    """The dash for what nobody knows, with the reason on hover, on focus and for screen readers. Never 0."""
    why = reason or _("not known")
    return format_html('<span class="unknown" tabindex="0" title="{}">—<span class="sr">{}</span></span>', why, why)


@register.simple_tag
def or_dash(text: Any, reason: str = "") -> Any:
    """What is there, or the same dash: a cell is empty because nothing belongs there."""
    return text or unknown(reason or _("there is none"))


@register.simple_tag
def when(value: datetime | int | None, missing: str = "") -> SafeString:
    """A moment in UTC; the page's script rewrites it to the reader's zone. int: nanoseconds of packet time."""
    if value is None:
        return unknown(missing)
    moment = units.at_ns(value) if isinstance(value, int) else value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        f"{moment:%m-%d %H:%M} UTC",
    )


@register.simple_tag
def known(value: Any, form: str = "number", reason: str = "") -> SafeString | str:
    """A number with its unit (number, size, rate, percent, span, short_span) or the dash with the reason."""
    return unknown(reason) if value is None or value == "" else getattr(units, form)(value)


@register.filter
def unit(value: float, form: str) -> str:
    return str(getattr(units, form)(value))


@register.filter
def check_title(name: str) -> labels.Text:
    return labels.check_title(name)


@register.filter
def check_reason(name: str) -> labels.Text:
    return labels.check_reason(name)


@register.filter
def finding_said(finding: Any) -> str:
    return labels.finding_said(finding)


@register.filter
def finding_advice(finding: Any) -> str:
    return labels.finding_advice(finding)


@register.filter
def change_reason(change: Any) -> str:
    return labels.change_reason(change)


@register.filter
def section_lines(text: str) -> list[str]:
    return changes_view.section_lines(text)


@register.simple_tag
def error_said(error: Any) -> str:
    """What an error of ours says, in the reader's language."""
    return labels.said(error.said.template, error.said.as_json()["values"])


@register.filter
def taken_by(snapshot: Any) -> str:
    return labels.taken_by(snapshot)


@register.filter
def actor(name: str) -> str:
    return labels.actor(name)


@register.filter
def quarantine(reason: str) -> str:
    return labels.quarantine(reason)


@register.filter
def facts(stored: Any) -> tuple[evidence.Fact, ...]:
    """Rows of a finding's evidence."""
    return evidence.facts(stored) if isinstance(stored, dict) else ()


@register.simple_tag
def fact(row: evidence.Fact) -> SafeString | str:
    """The value of one row of evidence, readable; what the device does not say is a dash, never 0."""
    match row.form:
        case "unknown":
            return unknown(_("the device does not say"))
        case "time":
            return when(row.value)
        case "flag":
            return _("yes") if row.value else _("no")
        case "word":
            return _(row.value)
        case "count":
            return units.number(row.value) if float(row.value).is_integer() else str(row.value)
        case "bits":
            return format_html("2<sup>{}</sup>", f"{row.value:g}")
        case "names":
            return _codes((redact(name),) for name in row.value) if row.value else _("none")
        case "pairs":
            return _codes((f"{key} {redact(value)}",) for key, value in row.value)
    return format_html("<code>{}</code>", redact(str(row.value)))


def _codes(rows: Iterable[tuple[str]]) -> SafeString:
    return format_html_join(", ", "<code>{}</code>", rows)


@register.filter
def change_kind(kind: str) -> labels.Text:
    return labels.CHANGE_KIND.get(kind, kind)


@register.filter
def push_outcome(outcome: str) -> labels.Text:
    return labels.PUSH_OUTCOME.get(outcome, outcome)


@register.filter
def rule_action(action: str) -> labels.Text:
    return labels.RULE_ACTION.get(action, action)


@register.filter
def guardrail(name: str) -> labels.Text:
    return labels.GUARDRAILS.get(name, name)


@register.simple_tag
def said(row: Any) -> str:
    """The words of a timeline event (message, data) or of a guard rail ({text, values} or {reason})."""
    if isinstance(row, dict):
        return labels.said(str(row.get("text") or row.get("reason") or ""), row.get("values"))
    return labels.event_said(row)


@register.filter
def word(value: Any) -> Any:
    return labels.word(value)


@register.filter
def audit_done(action: str) -> str:
    return audit_words.done(action)


@register.filter
def audit_details(entry: AuditEntry) -> list[audit_words.Detail]:
    return audit_words.details(entry)


@register.filter
def masked(text: str) -> str:
    """Device text without what devices print as secrets."""
    return redact(text)


@register.filter
def item(mapping: dict[str, Any], key: str) -> Any:
    return mapping.get(key)


@register.simple_tag(takes_context=True)
def page_frame(context: template.Context) -> frame.Frame:
    """Navigation, banners, realm and theme for the page around the content."""
    return frame.build(context.get("request"))
