"""Addresses of the policy side below /api/v1/."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
docs: list[URLPattern | URLResolver] = []
