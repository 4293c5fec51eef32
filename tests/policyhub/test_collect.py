"""Reading devices over SSH, and the commands `policyhub device` and `policyhub change`."""

import argparse
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Permission, User

from policyhub import dispatch
from policyhub.actions import collect, configs, secrets
from policyhub.domain.errors import BadInput, DeviceClosed, PolicyHubError
from policyhub.management import change_cli, device_cli
from policyhub.models import ConfigSnapshot, Device
from policyhub.transport.errors import AuthenticationFailed, HostKeyUnknown, LineRejected
from tests.support.devices import CONFIGS, simulated

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: None)


def run(module, *arguments):
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return module.run(parser.parse_args(arguments))


@pytest.mark.parametrize("platform", ["cisco_ios", "huawei_vrp"])
def test_collected_configuration_is_sealed_parsed_and_counted(platform):
    with simulated(platform) as bench:
        bench.device.count("MGMT 10" if platform == "cisco_ios" else "3001 5", 42, 4200)
        shot = collect.collect(device_id=bench.row.pk, actor="ops", now=NOW)
        text = secrets.unseal(shot.text_envelope)
        assert bench.device.running().splitlines()[-3] in text and "MGMT" not in shot.text_envelope
        assert shot.rules > 0 and shot.lines == len(text.splitlines())
        samples = configs.hit_samples(bench.row, now=NOW)
        assert [hit.hits for hit in samples[0].hits if hit.hits] == [42]
        assert configs.latest_config(bench.row).hostname == bench.device.hostname


def test_wrong_password_and_unknown_key_keep_nothing_and_show_on_the_device():
    with simulated("cisco_ios") as bench:
        bench.row.host_keys.all().delete()
        with pytest.raises(HostKeyUnknown, match="PH-E024"):
            collect.collect(device_id=bench.row.pk, actor="ops", now=NOW)
        assert bench.row.host_keys.get().state == "pending" and bench.sim.logins.attempts == []
        bench.row.host_keys.update(state="trusted")
        bench.sim.logins.passwords.clear()
        with pytest.raises(AuthenticationFailed, match="PH-E022"):
            collect.collect(device_id=bench.row.pk, actor="ops", now=NOW)
        with pytest.raises(DeviceClosed, match="quarantine"):
            collect.collect(device_id=bench.row.pk, actor="ops", now=NOW)
        assert len(bench.sim.logins.attempts) == 1 and ConfigSnapshot.objects.count() == 0


def test_login_that_may_not_read_the_configuration_is_told():
    with simulated("cisco_ios") as bench:
        bench.device.faults.reject = "show running-config"
        with pytest.raises(LineRejected, match="was refused"):
            collect.collect(device_id=bench.row.pk, actor="ops", now=NOW)
        assert ConfigSnapshot.objects.count() == 0


def test_device_commands_walk_from_a_csv_to_a_collected_configuration(tmp_path, capsys):
    with simulated("cisco_ios") as bench:
        port = bench.sim.port
        Device.objects.all().delete()
        for name, text in (("pw", "Correct-horse-9\n"), ("en", "Enable-battery-7\n")):
            (tmp_path / name).write_text(text)
        (tmp_path / "d.csv").write_text(f"name,platform,host,port,credential\nsw9,cisco_ios,127.0.0.1,{port},svc\n")
        secret = ["--password-file", str(tmp_path / "pw"), "--enable-file", str(tmp_path / "en")]
        assert run(device_cli, "credential", "svc", "--username", "push-user", *secret) == 0
        assert run(device_cli, "import", str(tmp_path / "d.csv"), "--apply") == 0
        assert run(device_cli, "credential", "ro", "--username", "push-user", "--purpose", "collect", *secret) == 0
        with pytest.raises(BadInput, match="no credential 'rw'"):
            run(device_cli, "login", "sw9", "rw")
        assert run(device_cli, "login", "sw9", "ro") == 0
        assert Device.objects.get().collect_credential.name == "ro" and Device.objects.get().push_credential.name == "svc"
        assert run(device_cli, "scan", "sw9") == 0
        fingerprint = Device.objects.get().host_keys.get().fingerprint
        with pytest.raises(BadInput, match="never showed"):
            run(device_cli, "trust", "sw9", "SHA256:other")
        assert run(device_cli, "trust", "sw9", fingerprint) == 0
        assert run(device_cli, "collect") == 0
        assert run(device_cli, "show", "sw9") == 0 and run(device_cli, "list") == 0
        told = capsys.readouterr().out
        assert "rules" in told and "trusted" in told and "horse" not in told and "battery" not in told


def test_collect_of_several_says_which_failed_and_exits_3(capsys):
    with simulated("cisco_ios") as bench, simulated("huawei_vrp") as other:
        other.sim.logins.passwords.clear()
        assert run(device_cli, "collect", bench.row.name, other.row.name) == 3
        told = capsys.readouterr()
        assert bench.row.name in told.out and "login refused" in told.err and len(told.err.splitlines()) == 1
        with pytest.raises(PolicyHubError, match="quarantine"):
            run(device_cli, "collect", other.row.name)


def test_configuration_from_a_file_serves_platforms_without_ssh(tmp_path, capsys):
    text = "hostname fw1\naccess-list outside remark 核心\naccess-list outside extended permit tcp any host 192.0.2.1 eq 443\n"
    (tmp_path / "fw.txt").write_bytes(text.encode("gbk"))
    (tmp_path / "bad.txt").write_bytes(b"hostname \0")
    run(device_cli, "add", "fw1", "--platform", "cisco_asa")
    assert run(device_cli, "import-config", "fw1", str(tmp_path / "fw.txt")) == 0
    assert "1 rules" in capsys.readouterr().out
    assert "access-list outside remark 核心" in configs.shown(ConfigSnapshot.objects.get())
    with pytest.raises(BadInput, match="byte 9"):
        run(device_cli, "import-config", "fw1", str(tmp_path / "bad.txt"))
    with pytest.raises(DeviceClosed, match="comes from files"):
        run(device_cli, "collect", "fw1")
    assert CONFIGS and ConfigSnapshot.objects.count() == 1


def test_change_commands_show_approve_and_take_back(capsys):
    board = User.objects.create_user("board")
    board.user_permissions.add(Permission.objects.get(codename="approve_change"))
    with simulated("cisco_ios") as bench:
        change = bench.plan()
        assert run(change_cli, "show", str(change.pk)) == 0
        told = capsys.readouterr().out
        assert change.plan_sha256 in told and "policy-map PHG-CORE1" in told and "no policy-map PHG-CORE1" in told
        with pytest.raises(BadInput, match="not an active user"):
            run(change_cli, "approve", str(change.pk), "--as", "nobody", "--plan", change.plan_sha256)
        assert run(change_cli, "approve", str(change.pk), "--as", "board", "--plan", change.plan_sha256) == 0
        assert bench.finish(change).state == "confirmed"
        assert run(change_cli, "revert", str(change.pk), "--reason", "test") == 0
        change.refresh_from_db()
        assert bench.finish(change).state == "reverted"
        assert run(change_cli, "list") == 0 and "reverted" in capsys.readouterr().out
        with pytest.raises(BadInput, match="no change #999"):
            run(change_cli, "show", "999")


def test_change_stop_holds_pushes_until_resume(capsys):
    assert run(change_cli, "stop", "--reason", "drill") == 0
    with simulated("cisco_ios") as bench:
        change = bench.approve(bench.plan())
        assert bench.step(change).state == "approved"
        assert run(change_cli, "resume", "--reason", "over") == 0
        bench.clock.skip(11)
        assert bench.finish(change).state == "confirmed"
    assert "stopped for everything" in capsys.readouterr().out
