"""Fifty devices from one file: what can be read is read, and what cannot is named with its cure."""

import argparse
from datetime import UTC, datetime

import asyncssh
import pytest

from policyhub.actions import configs
from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message
from policyhub.management import device_cli
from policyhub.models import ConfigSnapshot, Device, Preflight, PreflightResult
from tests.support.devices import ENABLE, PASSWORD, USER
from tests.support.fleet import FLEET_PLATFORMS, Fleet, made
from tests.support.services import free_port

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
HEADER = "name,platform,host,port,site,host_key\n"


def run(*arguments):
    parser = argparse.ArgumentParser()
    device_cli.add_arguments(parser)
    return device_cli.run(parser.parse_args(arguments))


@pytest.fixture
def campus(tmp_path):
    """The credential set of the site `campus`, from files as an operator gives it."""
    for name, text in (("pw", PASSWORD), ("en", ENABLE)):
        (tmp_path / name).write_text(text + "\n")
    secret = ["--password-file", str(tmp_path / "pw"), "--enable-file", str(tmp_path / "en")]
    run("credential", "reader", "--username", USER, "--purpose", "collect", *secret)
    run("site", "campus", "--collect", "reader")


def csv_of(members, **platforms):
    rows = [f"{m.name},{platforms.get(m.name, m.platform)},127.0.0.1,{m.port},campus,{m.host_key}\n" for m in members]
    return HEADER + "".join(rows)


@pytest.mark.waits
def test_fifty_devices_of_five_platforms_come_from_one_file_and_three_broken_ones_are_named_with_their_cure(
    campus, tmp_path, capsys
):
    members = [made(f"{FLEET_PLATFORMS[n % 5].replace('_', '-')}-{n:02}", FLEET_PLATFORMS[n % 5]) for n in range(50)]
    assert len({member.platform for member in members}) == 5
    locked, replaced, dead = members[7], members[21], members[33]
    locked.logins.passwords[USER] = "another-Word-1"
    with Fleet(members):
        dead.port = free_port()
        text = csv_of(members, **{members[n].name: "detect" for n in range(0, 10, 2)})
        other = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode().split()[1]
        text = text.replace(replaced.host_key.split()[1], other)
        (tmp_path / "all.csv").write_text(text)
        assert run("import", str(tmp_path / "all.csv")) == 0
        assert Device.objects.count() == 0
        assert run("import", str(tmp_path / "all.csv"), "--apply") == 0
        capsys.readouterr()
        assert run("preflight", "--collect", "--workers", "6") == 3
    told = capsys.readouterr().out
    assert "47 ready, 3 failed, 47 collected" in told
    results = {row.device.name: row for row in PreflightResult.objects.select_related("device")}
    assert {name for name, row in results.items() if row.state == "failed"} == {locked.name, replaced.name, dead.name}
    assert set(ConfigSnapshot.objects.values_list("device__name", flat=True)) == set(results) - {
        locked.name, replaced.name, dead.name,
    }  # fmt: skip
    for member, step, cure in (
        (locked, "login", "right password"),
        (replaced, "host-key", "trust its new key"),
        (dead, "reachable", "check address, port"),
    ):
        failed = [found for found in results[member.name].steps if found["state"] == "failed"]
        assert [found["name"] for found in failed] == [step]
        assert cure in str(Message.of(failed[0]["cure"])) and cure in told.split("Failed:")[1]
    assert locked.logins.attempts == [(USER, False)], "a wrong password is tried once"
    assert replaced.logins.attempts == [], "no password goes to a changed key"
    for member in members:
        device = Device.objects.get(name=member.name)
        if results[member.name].state != "failed":
            assert device.platform == member.platform and device.version, member.name
            config = configs.latest_config(device)
            assert config.hostname == member.name and config.rule_count > 0
    assert Preflight.objects.get().state == "done"


def test_a_failure_is_told_once_with_one_cure_and_an_unreached_device_is_what_the_inventory_says(campus, tmp_path, capsys):
    key = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
    dead = f"dead,sonic,127.0.0.1,{free_port()},campus,{key}\n".replace("\n", "") + "\n"
    (tmp_path / "two.csv").write_text(f"{HEADER}files,sonic,,,campus,\n{dead}new,detect,,,campus,\n")
    run("import", str(tmp_path / "two.csv"), "--apply")
    capsys.readouterr()
    assert run("preflight", "files", "dead", "new") == 3
    told = capsys.readouterr().out
    assert (told.count("check address, port"), told.lower().count("check address"), told.count("no connection")) == (1, 1, 1)
    assert told.count("its configuration comes from files. Cure: give it an address") == 2
    marked = [line.split()[1:4] for line in told.splitlines() if line.startswith("[")]
    assert sorted(marked) == [["dead", "failed", "sonic"], ["files", "failed", "sonic"], ["new", "failed", "?"]]
    assert run("preflight", "files", "--detect") == 3 and Device.objects.get(name="files").platform == "detect"
    with pytest.raises(BadInput, match="Name the devices"):
        run("preflight", "--detect")
