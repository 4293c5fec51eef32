"""What may leave: the line lint of each platform, the expressions that find a device's refusals, and the allowed reads."""

from __future__ import annotations

import re

import pytest

from policyhub.domain.change import GuardSpec
from policyhub.vendorkit.contract import PushProfile
from policyhub.vendors.cisco_ios import push as ios_push
from policyhub.vendors.cisco_ios import render as ios
from policyhub.vendors.huawei_vrp import push as vrp_push
from policyhub.vendors.huawei_vrp import render as vrp
from policyhub.vendors.linux_nftables import push as nft_push
from policyhub.vendors.linux_nftables import render as nft


def spec_for(prefix: str) -> GuardSpec:
    return GuardSpec("PHG-RIM4", (f"{prefix}7",), frozenset({40, 46}))


@pytest.mark.parametrize(
    "line",
    [
        "nft flush ruleset",
        "nft delete table inet phg_rim4x",
        "nft delete table inet filter",
        'nft add element inet phg_rim4 m4 "{ 0.0.0.0/0 }"',
        'nft add element inet phg_rim4 m4 "{ 10.0.0.1/32 }"; reboot',
        'nft add element inet phg_rim4 m4 "{ 10.0.0.1/32 }"\nreboot',
        'nft add element inet phg_rim4 m4 "{ 10.0.0.1/8 }"',
        'nft add element inet phg_rim4 m6 "{ 10.0.0.1/32 }"',
        'nft add element inet phg_rim4 m4 "{ 10.0.0.1/32, 10.0.0.2/32 }"',
        'nft add element inet phg_rim4 m4 "{ $(id) }"',
        "",
    ],
)
def test_nft_lint_refuses(line: str) -> None:
    assert not nft.owns(line, GuardSpec("PHG-RIM4", ("eth0",), frozenset({46})))


@pytest.mark.parametrize(
    "line",
    [
        "no interface GigabitEthernet1/0/7",
        "shutdown",
        "interface GigabitEthernet1/0/8",
        "service-policy input CARRIER",
        "no service-policy input CARRIER",
        "no ip access-list extended OFFICE",
        "ip access-list extended OFFICE",
        "permit ip any any",
        "permit ip 0.0.0.0 255.255.255.255 any",
        "permit ip host 10.1.1.1 host 10.2.2.2",
        "permit tcp host 10.1.1.1 any",
        "deny ip any any",
        "no 10",
        "no deny ip host 255.255.255.255 any",
        "set dscp ef",
        "reload in 5",
        "do write erase",
        "end",
        "",
    ],
)
def test_ios_lint_refuses(line: str) -> None:
    assert not ios.owns(line, spec_for("GigabitEthernet1/0/"))


@pytest.mark.parametrize(
    "line",
    [
        "undo interface Vlanif31",
        "shutdown",
        "interface GigabitEthernet0/0/8",
        "undo traffic-policy CARRIER inbound",
        "undo acl number 3007",
        "acl number 3007",
        "undo acl all",
        "rule 7 permit ip",
        "rule 7 permit ip source any",
        "rule 7 permit ip source 0.0.0.0 255.255.255.255",
        "rule 1 permit ip source 10.1.1.1 0",
        "rule 7 deny ip source 10.1.1.1 0",
        "undo rule 1",
        "remark dscp ef",
        "reboot fast",
        "return",
        "save",
        "",
    ],
)
def test_vrp_lint_refuses(line: str) -> None:
    assert not vrp.owns(line, spec_for("GigabitEthernet0/0/"))


ERRORS: dict[str, tuple[PushProfile, list[str], list[str]]] = {
    "ios": (
        ios_push.PROFILE,
        [
            "                 ^\n% Invalid input detected at '^' marker.",
            "% Incomplete command.",
            '% Ambiguous command:  "se"',
            "%Error: Access-list PHG-X does not exist",
            "% Policy map PHG-RIM4 is being used",
            "%class-map PHG-RIM4 is in use, cannot be removed",
            "% Duplicate sequence number",
            "Error: not enough TCAM entries for the policy",
            "%QOS-6-POLICY_INST_FAILED: Service policy installation failed on Gi1/0/7",
            "%FMANRP_QOS-4-MPOLCHECKDETAIL: police rate is out of range",
            "Command rejected: an interface cannot have two input policies",
            "% Authorization failed.",
        ],
        [
            "rim-sw-4(config-pmap-c)#police cir 500000000 bc 625000 conform-action transmit exceed-action drop",
            "Enter configuration commands, one per line.  End with CNTL/Z.",
            "%SYS-5-CONFIG_I: Configured from console by vty0 (192.0.2.9)",
            "%LINEPROTO-5-UPDOWN: Line protocol on Interface Vlan31, changed state to up",
            " description error: cable failed to be found",
            "    Class-map: PHG-RIM4 (match-all)\n      exceeded 0 packets, 0 bytes; actions:\n        drop",
            "ip access-list extended PHG-RIM4\n 10 deny ip host 255.255.255.255 any",
        ],
    ),
    "vrp": (
        vrp_push.PROFILE,
        [
            "          ^\nError: Unrecognized command found at '^' position.",
            "Error:Incomplete command found at '^' position.",
            "Error: Wrong parameter found at '^' position.",
            "Error: The ACL is used by a traffic classifier and cannot be deleted.",
            "Info: Failed to apply the traffic policy.",
            "Warning: The configuration does not take effect on this board.",
            "Error: Permission denied.",
        ],
        [
            "[rim-sw-5-behavior-PHG-RIM4] car cir 500000",
            "Enter system view, return user view with Ctrl+Z.",
            "Info: The configuration takes effect on the current user terminal interface only.",
            "Warning: The current configuration will be written to the device.",
            "Dropped          |      Packets:                             0",
            " description error: cable failed",
            "Current status: success",
        ],
    ),
    "nft": (
        nft_push.PROFILE,
        [
            "Error: Could not process rule: No such file or directory",
            "<cmdline>:1:1-8: Error: syntax error, unexpected junk",
            "netlink: Error: cache initialization failed: Operation not permitted",
            "-bash: nft: command not found",
            "sh: 1: nftt: not found",
            "rc=1",
            "rc=127",
        ],
        [
            "rc=0",
            "root@rim-r6:~# nft add table inet phg_rim4; echo rc=$?",
            "\t\ttcp dport 22 counter packets 3 bytes 180 drop comment \"error: nobody\"",
            "\tset m4 {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t}",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_error_expression_finds_every_refusal_and_nothing_else(name: str) -> None:
    profile, refusals, fine = ERRORS[name]
    for text in refusals:
        assert re.search(profile.error_regex, text), text
        assert re.search(profile.error_regex, f"before\n{text}\nafter"), text
    for text in fine:
        assert not re.search(profile.error_regex, text), text


def test_reads_are_on_the_list_of_allowed_reads() -> None:
    cases = [
        (ios, ios_push.PROFILE, "GigabitEthernet1/0/7"),
        (vrp, vrp_push.PROFILE, "XGigabitEthernet0/0/7"),
        (nft, nft_push.PROFILE, "eth0"),
    ]
    for renderer, profile, interface in cases:
        for command in renderer.reads(GuardSpec("PHG-R", (interface,), frozenset({46}))):
            assert any(re.fullmatch(allowed, command) for allowed in profile.reads_allowed), command
            assert not any(re.fullmatch(allowed, f"{command}; reboot") for allowed in profile.reads_allowed)
