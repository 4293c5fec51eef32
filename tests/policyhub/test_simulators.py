"""The simulated switches: they refuse what the real command line refuses, and what they print can be read again."""

import json
import re
import subprocess
import sys

import pytest

from flowguard.lab.simulators import PLATFORMS
from policyhub.transport import Address, DeviceSession, Login, PublicKey
from policyhub.vendorkit.registry import REGISTRY
from tests.support.devices import CONFIGS


def typed(platform, *lines):
    """A privileged session after these lines: (answers, device)."""
    device = PLATFORMS[platform]()
    device.load(CONFIGS[platform])
    session = device.session()
    return [session.type(line) for line in lines], device


@pytest.mark.parametrize("platform", sorted(PLATFORMS))
def test_printed_configuration_loads_again_and_parses_without_a_stranger(platform):
    device, again = PLATFORMS[platform](), PLATFORMS[platform]()
    device.load(CONFIGS[platform])
    again.load(device.running())
    assert again.running() == device.running()
    config = REGISTRY.get(platform).parse(device.running())
    assert config.hostname == device.hostname and config.unparsed == ()
    assert {policy.name for policy in config.qos_policies} == {"UPLINK"} and config.rule_count >= 1


IOS = ["configure terminal"]
VRP = ["system-view"]


@pytest.mark.parametrize(
    ("platform", "lines", "said"),
    [
        ("cisco_ios", ["policy-map X"], "% Invalid input"),
        ("cisco_ios", [*IOS, "frobnicate"], "% Invalid input"),
        ("cisco_ios", [*IOS, "interface GigabitEthernet9/9/9"], "% Invalid input"),
        ("cisco_ios", [*IOS, "no policy-map UPLINK"], "is being used"),
        ("cisco_ios", [*IOS, "no class-map match-any VOICE"], "is being used"),
        ("cisco_ios", [*IOS, "interface GigabitEthernet1/0/1", "service-policy input NONE"], "not configured"),
        ("cisco_ios", [*IOS, "policy-map NEW", "interface GigabitEthernet1/0/2", "service-policy input NEW"],
         "already attached"),
        ("cisco_ios", [*IOS, "policy-map NEW", "class NONE"], "not configured"),
        ("cisco_ios", [*IOS, "class-map match-all C", "match dscp 64"], "% Invalid input"),
        ("cisco_ios", [*IOS, "ip access-list extended A", "permit ip host 300.1.1.1 any"], "% Invalid input"),
        ("cisco_ios", [*IOS, "ip access-list extended A", "no permit ip host 192.0.2.1 any"], "does not exist"),
        ("huawei_vrp", ["traffic policy X"], "Error: Unrecognized command"),
        ("huawei_vrp", [*VRP, "interface GigabitEthernet9/9/9"], "Error: Wrong parameter"),
        ("huawei_vrp", [*VRP, "undo traffic policy UPLINK"], "applied and cannot be deleted"),
        ("huawei_vrp", [*VRP, "undo traffic classifier VOICE"], "used by a traffic policy"),
        ("huawei_vrp", [*VRP, "undo traffic behavior VOICE"], "used by a traffic policy"),
        ("huawei_vrp", [*VRP, "traffic classifier C operator and", "if-match acl NONE"], "does not exist"),
        ("huawei_vrp", [*VRP, "interface GigabitEthernet0/0/2", "traffic-policy UPLINK inbound", "traffic policy NEW", "quit",
                        "interface GigabitEthernet0/0/2", "traffic-policy NEW inbound"], "has been applied"),
        ("huawei_vrp", [*VRP, "acl number 3001", "undo rule 99"], "does not exist"),
        ("huawei_vrp", [*VRP, "traffic behavior B", "remark dscp 99"], "Error: Wrong parameter"),
    ],
)  # fmt: skip
def test_last_line_is_refused_in_the_vendors_words_and_by_our_error_expression(platform, lines, said):
    answers, _ = typed(platform, *lines)
    assert said in answers[-1] and not any(answers[:-1][1:])
    assert re.search(REGISTRY.get(platform).push.error_regex, answers[-1], re.I | re.M)


@pytest.mark.parametrize("platform", sorted(PLATFORMS))
def test_runs_as_a_process_and_its_state_file_follows_each_change(platform, tmp_path):
    (tmp_path / "pw").write_text("Correct-horse-9\n")
    (tmp_path / "start").write_text(CONFIGS[platform])
    command = [sys.executable, "-m", "flowguard.lab.simulators", "--platform", platform, "--password-file", str(tmp_path / "pw")]
    command += [
        "--state-file",
        str(tmp_path / "running"),
        "--config",
        str(tmp_path / "start"),
        "--host-key-file",
        str(tmp_path / "key"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        told = json.loads(process.stdout.readline())
        algorithm, body = told["host_key"].split()[:2]
        manner = REGISTRY.get(platform).push
        line = {"cisco_ios": "class-map match-all SEEN", "huawei_vrp": "traffic behavior SEEN"}[platform]
        with DeviceSession.open(
            Address("127.0.0.1", told["port"]), Login("policyhub", "Correct-horse-9"), manner, [PublicKey(algorithm, body)]
        ) as session:
            session.push([line])
        assert line in (tmp_path / "running").read_text() and line not in (tmp_path / "start").read_text()
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def test_bad_start_configuration_is_one_line_and_exit_code_2(tmp_path):
    (tmp_path / "pw").write_text("x")
    (tmp_path / "start").write_text("interface GigabitEthernet1/0/1\n frobnicate now\n")
    command = [
        sys.executable,
        "-m",
        "flowguard.lab.simulators",
        "--platform",
        "cisco_ios",
        "--password-file",
        str(tmp_path / "pw"),
    ]
    done = subprocess.run(
        [*command, "--state-file", str(tmp_path / "run"), "--config", str(tmp_path / "start")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2 and "frobnicate" in done.stderr and len(done.stderr.splitlines()) == 1
