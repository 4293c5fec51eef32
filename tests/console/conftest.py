"""People and rows of the console's tests."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.sample_rows import Sample, sample


@pytest.fixture
def rows(db: None) -> Sample:
    return sample()


def person(user: User, language: str = "en") -> Client:
    client = Client()
    client.force_login(user)
    client.cookies["django_language"] = language
    return client


@pytest.fixture
def admin(rows: Sample) -> Client:
    return person(rows.admin)
