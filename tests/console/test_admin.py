"""The admin holds every table, hides every secret, and leaves alone what only the service writes."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.core.management import call_command
from django.db import models
from django.test import Client
from django.utils import translation

from policyhub.actions.secrets import unseal
from policyhub.models import AuditEntry, Credential, Device, Realm
from tests.support.sample_rows import Sample

TABLES = [model for label in ("policyhub", "flowguard") for model in apps.get_app_config(label).get_models()]
READ_ONLY = {
    "auditentry",
    "change",
    "changeevent",
    "approval",
    "verdict",
    "enforcement",
    "verdictbatch",
    "apitoken",
    "killswitch",
}


def url(model: type[models.Model], rest: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{rest}"


def test_every_table_is_in_the_admin() -> None:
    assert {model for model in TABLES if not admin.site.is_registered(model)} == set()


@pytest.mark.parametrize("model", TABLES, ids=lambda model: str(model._meta.model_name))
@pytest.mark.parametrize("language", ["en", pytest.param("zh-hans", marks=pytest.mark.once)])
def test_list_and_form_open_and_show_no_secret(rows: Sample, client: Client, model: type[models.Model], language: str) -> None:
    client.force_login(rows.admin)
    client.cookies["django_language"] = language
    pages = [client.get(url(model))]
    first = model._default_manager.order_by("pk").first()
    if first is not None:
        pages.append(client.get(url(model, f"{first.pk}/change/")))
    for page in pages:
        text = page.content.decode()
        assert page.status_code == 200
        for secret in ("not-shown-anywhere", "v1.", "s3cretword", 'type="password" name="password" value'):
            assert secret not in text


@pytest.mark.parametrize("name", sorted(READ_ONLY))
def test_what_the_service_writes_cannot_be_written_here(rows: Sample, client: Client, name: str) -> None:
    client.force_login(rows.admin)
    model = next(model for model in TABLES if model._meta.model_name == name)
    first = model._default_manager.order_by("pk").first()
    assert client.get(url(model, "add/")).status_code == 403
    if first is not None:
        assert client.post(url(model, f"{first.pk}/change/"), {}).status_code == 403
        assert client.post(url(model, f"{first.pk}/delete/"), {"post": "yes"}).status_code == 403


def test_secret_goes_in_sealed_and_an_empty_field_keeps_it(rows: Sample, client: Client) -> None:
    client.force_login(rows.admin)
    row = Credential.objects.get()
    fields = {"name": row.name, "username": "other", "purpose": "push", "private_key": "", "enable": ""}
    client.post(url(Credential, f"{row.pk}/change/"), {**fields, "password": ""})
    kept = Credential.objects.get()
    assert (kept.username, unseal(kept.password_envelope)) == ("other", "not-shown-anywhere")
    client.post(url(Credential, f"{row.pk}/change/"), {**fields, "password": "new-secret"})
    changed = Credential.objects.get()
    assert "new-secret" not in changed.password_envelope
    assert unseal(changed.password_envelope) == "new-secret"


def test_edit_in_the_admin_is_audited_without_values(rows: Sample, client: Client) -> None:
    client.force_login(rows.admin)
    client.post(url(Realm, "add/"), {"name": "site-c"})
    entry = AuditEntry.objects.get(action="admin.realm.added")
    assert (entry.actor, entry.data["fields"]) == ("admin", ["name"])


@pytest.mark.parametrize(("field", "value"), [("host", "sw1; reboot"), ("host", "10.1.2.300"), ("port", "0"), ("port", "70000")])
def test_address_of_a_device_is_an_address(rows: Sample, client: Client, field: str, value: str) -> None:
    client.force_login(rows.admin)
    page = url(Device, f"{rows.device.pk}/change/")
    given = client.get(page).context["adminform"].form.initial
    body = {name: "" if held is None else held for name, held in given.items()}
    answer = client.post(page, {**body, field: value})
    assert answer.status_code == 200
    assert set(answer.context["adminform"].form.errors) == {field}
    assert client.post(page, {**body, "host": "sw1.example"}).status_code == 302
    assert Device.objects.get(pk=rows.device.pk).host == "sw1.example"


def test_viewer_has_no_business_in_the_admin(rows: Sample, client: Client) -> None:
    client.force_login(rows.viewer)
    assert client.get("/admin/").status_code == 302


@pytest.mark.parametrize("model", TABLES, ids=lambda model: str(model._meta.model_name))
def test_columns_have_chinese_names(model: type[models.Model]) -> None:
    hidden = {"id", "password_envelope", "private_key_envelope", "enable_envelope", "text_envelope", "counters_envelope"}
    hidden |= {"transcript_envelope"}
    with translation.override("zh-hans"):
        names = {f.name: str(f.verbose_name) for f in model._meta.concrete_fields if f.name not in hidden}
    assert not {name: word for name, word in names.items() if not re.search(r"[\u4e00-\u9fff]", word)}


def test_translating_columns_changes_no_migration(db: None) -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
