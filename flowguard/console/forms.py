"""Filters and uploads of the traffic pages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from flowguard.console.labels import verdict_title
from flowguard.models import Enforcement, Verdict
from policyhub.console.forms import ANY, FilterForm
from policyhub.domain.device_config import Interface
from policyhub.domain.qos import CS1, DF, PRIORITY_DSCP, dscp_name
from policyhub.models.findings import SEVERITIES

SINCE = {"1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
MAX_CSV = 5 * 1024 * 1024


class VerdictFilterForm(FilterForm):
    since = forms.ChoiceField(
        label=_("Time"),
        choices=[("", _("all")), ("1h", _("last hour")), ("24h", _("last 24 h")), ("7d", _("last 7 days"))],
        required=False,
    )
    severity = forms.ChoiceField(label=_("Severity"), choices=[ANY, *SEVERITIES], required=False)
    standing = forms.ChoiceField(
        label=_("Standing"),
        choices=[("", Verdict.Standing.STANDS.label), *Verdict.Standing.choices[1:], ("all", _("all"))],
        required=False,
    )
    name = forms.ChoiceField(label=_("Verdict"), required=False)

    def __init__(self, *args: object, names: list[str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["name"].choices = [ANY, *((name, verdict_title(name)) for name in names)]  # type: ignore[attr-defined]


class EnforcementFilterForm(FilterForm):
    state = forms.ChoiceField(
        label=_("State"),
        choices=[ANY, ("open", _("open")), ("ended", _("over")), ("seen", _("not acted on")), *Enforcement.State.choices],
        required=False,
    )


class IdentityFilterForm(FilterForm):
    core = forms.ChoiceField(label=_("Class"), choices=[ANY, ("core", _("core")), ("non-core", _("not core"))], required=False)


class GuardForm(forms.Form):
    """What a guard is: which interfaces it stands at, inbound, and what members' packets become. known: interfaces as read."""

    name = forms.RegexField(
        r"^[A-Za-z0-9]{1,12}$",
        label=_("Name"),
        error_messages={"invalid": _("Up to twelve letters or digits; PHG- is put before them.")},
    )
    interfaces = forms.MultipleChoiceField(label=_("Interfaces, inbound"), required=False, widget=forms.CheckboxSelectMultiple)
    others = forms.CharField(label=_("Other interfaces"), required=False, max_length=500)
    marks = forms.MultipleChoiceField(label=_("Takes"), choices=[(str(mark), dscp_name(mark)) for mark in sorted(PRIORITY_DSCP)])
    target = forms.TypedChoiceField(label=_("Rewrites to"), choices=[(str(DF), "DF (0)"), (str(CS1), "CS1 (8)")], coerce=int)
    rate_mbps = forms.FloatField(
        label=_("Meter for all members together (Mbit/s)"), required=False, min_value=0.064, max_value=1_000_000
    )
    reason = forms.CharField(label=_("Reason"), max_length=500)

    def __init__(self, *args: Any, known: Iterable[Interface] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        told = [(one.name, f"{one.name} · {one.description}" if one.description else one.name) for one in known]
        self.fields["interfaces"].choices = told  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        cleaned["interfaces"] = list(dict.fromkeys([*cleaned.get("interfaces", ()), *_names(cleaned.get("others", ""))]))
        if not cleaned["interfaces"] and "interfaces" not in self.errors:
            raise ValidationError(_("Choose at least one interface: where the traffic enters the device."))
        return cleaned


def _names(text: str) -> list[str]:
    """Interface names in one field: by comma, since some hold blanks."""
    return [name.strip() for name in text.split(",") if name.strip()]


class IdentityUploadForm(forms.Form):
    """A CSV of the contract's columns. `text` carries it from the preview to the import."""

    file = forms.FileField(label=_("CSV file"), required=False)
    text = forms.CharField(required=False, widget=forms.HiddenInput, strip=False, max_length=MAX_CSV)
    name = forms.CharField(required=False, widget=forms.HiddenInput, max_length=200)

    def clean_file(self) -> UploadedFile | None:
        file: UploadedFile | None = self.cleaned_data.get("file")
        if file and (file.size or 0) > MAX_CSV:
            raise ValidationError(_("The file is larger than 5 MB."))
        return file

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        file = cleaned.get("file")
        if isinstance(file, UploadedFile):
            cleaned["name"] = file.name or "identities.csv"
            cleaned["text"] = _decoded(file.read())
        elif not cleaned.get("text"):
            raise ValidationError(_("Choose a CSV file."))
        return cleaned


def _decoded(raw: bytes) -> str:
    """UTF-8, with or without a mark, else GB18030 as Chinese spreadsheets write it."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ValidationError(_("The file is neither UTF-8 nor GB18030 text."))
