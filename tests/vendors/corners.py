"""What tests of small texts ask of a parser: that it understands all of a text, or why it does not understand a line."""

from __future__ import annotations

import pytest

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.contract import Vendor


def whole(vendor: Vendor, text: str) -> DeviceConfig:
    """The model of a text that is wholly understood."""
    config = vendor.parse(text)
    assert not config.unparsed, config.unparsed
    return config


def reasons(vendor: Vendor, text: str) -> list[str]:
    """`LINE REASON` of every line that is not understood."""
    return [f"{unparsed.line} {unparsed.reason}" for unparsed in vendor.parse(text).unparsed]


def each_odd(rows: list[tuple[str, str]]) -> pytest.MarkDecorator:
    """Rows of a text and what is told of it, named by their texts."""
    return pytest.mark.parametrize(("text", "told"), rows, ids=[text for text, _ in rows])
