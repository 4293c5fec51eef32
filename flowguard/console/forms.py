"""Filters and uploads of the traffic pages."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from flowguard.console.labels import verdict_title
from flowguard.models import Enforcement, Verdict
from policyhub.console.forms import ANY, FilterForm
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
