"""What may stand where a device's address stands."""

import pytest

from policyhub.domain.errors import BadInput
from policyhub.domain.hosts import check_host


@pytest.mark.parametrize(
    "host",
    [
        "192.0.2.1", "2001:db8::1", "fe80::1%eth0", "sw1", "sw-1.lab.example", "core_sw1", "sw1.example.", "10gw.example",
        "xn--fiq228c.example", "a" * 63, ".".join(["a" * 63] * 3),
    ],
)  # fmt: skip
def test_addresses_and_host_names_are_hosts(host):
    assert check_host(host) == host


def test_white_space_around_a_host_is_left_out_and_none_is_none():
    assert (check_host(" 192.0.2.1\n"), check_host(""), check_host("  ")) == ("192.0.2.1", "", "")


@pytest.mark.parametrize(
    "host",
    [
        "10.1.2", "10.1.2.300", "10.1.2.03", "2001:db8::g", "sw1:22", "ssh://sw1", "ops@sw1", "sw 1", "sw1;reboot", "-sw1",
        "sw1-", "sw1..example", ".", "交换机", "a" * 64, ".".join(["abcdefg"] * 40), "sw1/24", "192.0.2.0/24", "sw1\x00", "$(id)",
        "sw1\nx",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_the_cure(host):
    with pytest.raises(BadInput, match=r"neither an address nor a host name.*Give an address") as caught:
        check_host(host)
    assert "\n" not in str(caught.value)
