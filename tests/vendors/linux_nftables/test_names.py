"""The data files of names against the installed nft's own tables."""

from __future__ import annotations

import re
import subprocess

import pytest

from policyhub.domain.services import ICMP, ICMPV6
from policyhub.vendors.linux_nftables.facts import ICMP_CODES, dscp_of
from policyhub.vendors.linux_nftables.reading import NAMES

pytestmark = pytest.mark.root
ROW = re.compile(r"^\t(\S+)\s+\t\s*(0x[0-9a-f]+|\d+)$")


def described(*what: str) -> dict[str, int]:
    done = subprocess.run(["nft", "describe", *what], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"nft cannot be asked: {done.stderr}"
    rows = {m[1]: int(m[2], 0) for m in map(ROW.match, done.stdout.splitlines()) if m}
    assert rows
    return rows


def test_dscp_names_are_those_of_nft() -> None:
    for name, value in described("dscp").items():
        assert dscp_of(name) == value, name


def test_protocol_names_are_those_of_nft() -> None:
    for name, value in described("inet_proto").items():
        assert (NAMES.protocol(name) or 0) == value, name


@pytest.mark.parametrize(("kind", "protocol"), [("icmp_type", ICMP), ("icmpv6_type", ICMPV6)])
def test_icmp_types_are_those_of_nft(kind: str, protocol: int) -> None:
    for name, value in described(kind).items():
        assert NAMES.icmp_type(name, protocol) == (value, None), name


@pytest.mark.parametrize(("kind", "protocol"), [("icmp_code", ICMP), ("icmpv6_code", ICMPV6)])
def test_icmp_codes_are_those_of_nft(kind: str, protocol: int) -> None:
    assert described(kind) == ICMP_CODES[protocol]
