"""What people type: log-in, filters (kept in the address), reasons, passwords."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from policyhub.console import reauth
from policyhub.models import Change, Credential, DeviceGroup, Finding
from policyhub.models.findings import SEVERITIES

ANY = ("", _("any"))


MOST_KEY = 2**63 - 1  # of a primary key; SQLite fails on more


class LoginForm(AuthenticationForm):
    """Django's, slowed down for guessers."""

    def clean(self) -> dict[str, Any]:
        name, address = str(self.cleaned_data.get("username", "")), address_of(self.request)
        if name and not reauth.may_try(name, address):
            raise ValidationError(_("Too many tries. Wait a quarter of an hour."), code="slow")
        try:
            cleaned = super().clean()
        except ValidationError:
            reauth.failed(name, address)
            raise
        reauth.passed(name, address)
        return cleaned


def address_of(request: HttpRequest | None) -> str:
    return str(request.META.get("REMOTE_ADDR", "")) if request else ""


class FilterForm(forms.Form):
    """A filter whose values live in the address. A value nobody offers is ignored, never an error page."""

    q = forms.CharField(label=_("Search in the list"), required=False, max_length=200)

    def wish(self) -> dict[str, Any]:
        self.is_valid()
        return {name: self.cleaned_data.get(name, "") or "" for name in self.fields}

    @property
    def is_set(self) -> bool:
        return any(self.wish().values())


class FindingFilterForm(FilterForm):
    severity = forms.ChoiceField(label=_("Severity"), choices=[ANY, *SEVERITIES], required=False)
    status = forms.ChoiceField(
        label=_("Status"), choices=[("", _("open")), *Finding.Status.choices, ("all", _("all"))], required=False
    )
    name = forms.ChoiceField(label=_("Check"), required=False)
    device = forms.IntegerField(required=False, min_value=1, max_value=MOST_KEY, widget=forms.HiddenInput)

    def __init__(self, *args: Any, names: list[tuple[str, Any]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].choices = [ANY, *names]  # type: ignore[attr-defined]


class DeviceFilterForm(FilterForm):
    group = forms.ChoiceField(label=_("Group"), required=False)
    state = forms.ChoiceField(
        label=_("State"),
        choices=[ANY, ("quarantined", _("quarantined")), ("key", _("host key waits")), ("disabled", _("disabled"))],
        required=False,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = DeviceGroup.objects.order_by("name").values_list("name", flat=True)
        self.fields["group"].choices = [ANY, *((name, name) for name in names)]  # type: ignore[attr-defined]


class CounterFilterForm(FilterForm):
    only = forms.ChoiceField(
        label=_("Show"), choices=[("", _("all")), ("trouble", _("only with drops, pauses or errors"))], required=False
    )


class ChangeFilterForm(FilterForm):
    q = None  # type: ignore[assignment]
    state = forms.ChoiceField(
        label=_("State"),
        choices=[
            ANY,
            ("waiting", _("waits for approval")),
            ("running", _("under way")),
            ("person", _("a person is needed")),
            *((value, label) for value, label in Change.State.choices if value not in ("proposed", "revert-failed")),
        ],
        required=False,
    )
    device = forms.IntegerField(required=False, min_value=1, max_value=MOST_KEY, widget=forms.HiddenInput)


class AuditFilterForm(FilterForm):
    q = None  # type: ignore[assignment]
    actor = forms.CharField(label=_("Who"), required=False, max_length=150)
    action = forms.CharField(label=_("Action starts with"), required=False, max_length=64)


class PasswordForm(forms.Form):
    """Re-authentication: the person at the keyboard is still the one who logged in."""

    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        if not reauth.password_ok(self.request.user, password, address_of(self.request)):  # type: ignore[arg-type]
            raise ValidationError(_("This is not your password. Nothing was done."))
        return password


def told_errors(form: forms.Form) -> str:
    """All of the form's errors as one line, for a message."""
    return " ".join(str(error) for errors in form.errors.values() for error in errors)


class ApproveForm(PasswordForm):
    """plan_sha256: of the plan as it stood on the page that was read."""

    plan_sha256 = forms.CharField(max_length=64, widget=forms.HiddenInput)


class ReasonForm(PasswordForm):
    reason = forms.CharField(label=_("Reason"), max_length=500, widget=forms.TextInput)
    field_order: tuple[str, ...] = ("reason", "password")


class GroupModeForm(ReasonForm):
    """Automatic mode changes devices without asking, so it is not one click away: the group's name has to be typed."""

    mode = forms.ChoiceField(label=_("Mode"), choices=DeviceGroup.Mode.choices)
    confirm = forms.CharField(label=_("Name of the group"), required=False, max_length=64)
    field_order = ("mode", "confirm", "reason", "password")

    def __init__(self, *args: Any, group: DeviceGroup, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("mode") == DeviceGroup.Mode.AUTO and cleaned.get("confirm", "").strip() != self.group.name:
            raise ValidationError(_("Type the name of the group to confirm automatic mode. Nothing was done."))
        return cleaned


class DeviceLoginForm(PasswordForm):
    """One login for reading, one for pushing: its purpose says which it becomes."""

    credential = forms.ModelChoiceField(Credential.objects.order_by("name"), label=_("Login"))
    field_order = ("credential", "password")


class KillSwitchForm(ReasonForm):
    scope = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    engage = forms.BooleanField(required=False, widget=forms.HiddenInput)


MOST_INVENTORY = 5 * 1024 * 1024


class InventoryUploadForm(forms.Form):
    """An inventory as a file; `text` and `name` are what became of it."""

    file = forms.FileField(label=_("Inventory file"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        file = cleaned.get("file")
        if not file:
            raise ValidationError(_("Choose a file."))
        if (file.size or 0) > MOST_INVENTORY:
            raise ValidationError(_("The file is larger than 5 MB. Use policyhub device import for it."))
        for encoding in ("utf-8-sig", "gb18030"):
            try:
                return {"text": file.read().decode(encoding), "name": str(file.name or "inventory")[:200]}
            except UnicodeDecodeError:
                file.seek(0)
        raise ValidationError(_("The file is neither UTF-8 nor GB18030 text."))


class InventoryApplyForm(PasswordForm):
    """The file that was previewed, once more, and who is at the keyboard: devices get credentials by it."""

    text = forms.CharField(widget=forms.HiddenInput, strip=False, max_length=MOST_INVENTORY)
    name = forms.CharField(widget=forms.HiddenInput, max_length=200)


class PreflightForm(forms.Form):
    """device: only this one."""

    collect = forms.BooleanField(label=_("Keep what is read as their configuration"), required=False)
    device = forms.IntegerField(required=False, min_value=1, max_value=MOST_KEY, widget=forms.HiddenInput)
