"""Dockerfile and compose file: their structure. No container engine runs here, so nothing proves that they build."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from policyhub.conf.processes import WORKERS, worker_argv
from policyhub.conf.settings.broker import QUEUES
from tests.support.services import ROOT

ROLES = {"web", "worker", "worker-decide", "worker-enforce", "scheduler"}
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "docker" / "compose.yml").read_text()))


def test_every_role_is_there(compose: dict[str, Any]) -> None:
    assert ROLES | {"postgres", "redis", "prepare", "sensor"} == set(compose["services"])


def test_every_lasting_service_has_a_health_check(compose: dict[str, Any]) -> None:
    without = [name for name, service in compose["services"].items() if "healthcheck" not in service and name != "prepare"]
    assert without == []


def test_every_queue_has_a_worker_and_workers_start_as_the_supervisor_starts_them(compose: dict[str, Any]) -> None:
    served: list[str] = []
    for name, queues in WORKERS.items():
        command = compose["services"][name]["command"]
        assert command[1:] == worker_argv(name, queues)[3:], "compose and supervisor start different workers"
        served += command[command.index("--queues") + 1].split(",")
    assert sorted(served) == sorted(QUEUES)


def test_a_worker_that_pushes_is_given_time_to_end(compose: dict[str, Any]) -> None:
    assert int(compose["services"]["worker-enforce"]["stop_grace_period"].rstrip("s")) >= 180


def test_redis_keeps_a_file_and_forgets_nothing_to_save_memory(compose: dict[str, Any]) -> None:
    command = compose["services"]["redis"]["command"]
    assert command[command.index("--appendonly") + 1] == "yes"
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_what_is_named_is_defined(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert set(service.get("secrets", [])) <= set(compose["secrets"]), name
        assert set(service.get("networks", [])) <= set(compose["networks"]), name
        assert set(service.get("depends_on", {})) <= set(compose["services"]), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source.startswith(".") or source in compose["volumes"], (name, volume)


def test_database_and_broker_are_not_reachable_from_outside(compose: dict[str, Any]) -> None:
    assert compose["networks"]["inside"]["internal"] is True
    for name in ("postgres", "redis"):
        assert compose["services"][name]["networks"] == ["inside"]
        assert "ports" not in compose["services"][name]
    assert all(port.startswith("127.0.0.1:") for port in compose["services"]["web"]["ports"])


def test_no_service_of_ours_can_write_its_image_or_gain_rights(compose: dict[str, Any]) -> None:
    for name in ROLES:
        service = compose["services"][name]
        assert (service["read_only"], service["cap_drop"], service["security_opt"]) == (
            True,
            ["ALL"],
            ["no-new-privileges:true"],
        ), name


def test_only_the_sensor_may_capture(compose: dict[str, Any]) -> None:
    allowed = {name: service["cap_add"] for name, service in compose["services"].items() if "cap_add" in service}
    assert allowed == {"sensor": ["NET_RAW", "NET_ADMIN"]}


def test_no_secret_stands_in_the_compose_file(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for name, value in (service.get("environment") or {}).items():
            if re.search("KEY|PASSWORD|URL", name) and not name.endswith("_FILE"):
                assert value.startswith("redis://redis:"), name


def test_images_build_from_stages_that_exist(compose: dict[str, Any]) -> None:
    stages = set(re.findall(r"^FROM \S+ AS (\w+)", DOCKERFILE, re.M))
    used = set(re.findall(r"--from=(\w+)", DOCKERFILE)) | {
        service["build"]["target"] for service in compose["services"].values() if "build" in service
    }
    assert used <= stages


def test_what_the_image_copies_exists_and_the_sample_network_stays_out() -> None:
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists(), name
    assert "rm -rf flowguard/lab" in DOCKERFILE
    assert "scapy" not in (ROOT / "docker" / "requirements.lock").read_text()


def test_images_run_without_root_and_install_by_hash() -> None:
    final = dict(re.findall(r"^FROM \S+ AS (\w+)\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.M | re.S))
    assert all("USER policyhub" in final[name] for name in ("service", "sensor"))
    assert all("--require-hashes" in line for line in DOCKERFILE.splitlines() if "-r requirements.lock" in line)


def test_every_debian_package_has_a_section() -> None:
    lines = [line.strip() for line in (ROOT / "docker" / "apt.txt").read_text().splitlines() if line.strip()]
    assert [line for line in lines if line.startswith("# [")] == ["# [run]", "# [test]", "# [bench]", "# [soak]"]
    packages = [line for line in lines if not line.startswith("#")]
    assert len(packages) == len(set(packages))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", package) for package in packages)
