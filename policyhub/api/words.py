"""Sentences on the wire: in the language that the request asks for (Accept-Language), English unless it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework import serializers


class Words(serializers.CharField):
    """A read-only string made from the whole row."""

    def __init__(self, read: Callable[[Any], str]) -> None:
        super().__init__(source="*", read_only=True)
        self._read_row = read

    def to_representation(self, value: Any) -> str:
        return self._read_row(value)
