"""The closed loop on a real router: packets, verdict, plan, push, proof by packets, taken back. `make demo-net`.

    python -m flowguard.lab.net.loop [--seed N] [--json]

Prints what happened and exits 1 when a promise was broken. Web, workers, Redis, scheduler, sensor and the router's sshd are
processes of their own; addresses, ports and the offender are drawn anew for each run.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from flowguard.lab.net.provision import install_guard, provision
from flowguard.lab.net.topology import Topology
from flowguard.lab.service import POLICYHUB, Service, open_database, wait

ENFORCEMENT_TTL_S = 20
ACT_WITHIN_S = 60.0
QUIET_S = 6.0
FOREIGN = re.compile(r"packets (\d+) bytes (\d+)")


@dataclass
class Report:
    """What was measured. seconds_to_verified: from the first offending packet to the change proved by packets."""

    seed: int
    offender: str = ""
    verdicts_before_offence: int = -1
    unchanged_while_worker_stopped: bool = False
    seconds_to_verified: float = -1.0
    outcome: str = ""
    member_on_router: bool = False
    marked_share_before: float = -1.0
    marked_share_after: float = -1.0
    tcpdump_marked_packets_after: int = -1
    tcpdump_packets_after: int = -1
    core_marked_share: float = -1.0
    core_requests: int = 0
    core_unanswered: int = -1
    ruleset_equal_after_expiry: bool = False
    ruleset_equal_after_guard_removed: bool = False
    foreign_counter_kept: bool = False
    final_state: str = ""
    audit_ok: bool = False
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    def broken(self) -> list[str]:
        """Promises that do not hold."""
        checks = {
            "a verdict before anybody offended": self.verdicts_before_offence == 0,
            "the router changed while the worker was stopped": self.unchanged_while_worker_stopped,
            f"not verified within {ACT_WITHIN_S:.0f} s": 0 < self.seconds_to_verified <= ACT_WITHIN_S,
            f"outcome is {self.outcome}, not helped": self.outcome == "helped",
            "the router's set does not hold the offender": self.member_on_router,
            "the offender's marked share is not below 1 %": 0 <= self.marked_share_after < 0.01,
            "tcpdump still sees marked packets": self.tcpdump_packets_after > 0
            and self.tcpdump_marked_packets_after < 0.01 * self.tcpdump_packets_after,
            "core traffic lost its mark": self.core_marked_share == 1.0,
            "core requests were not answered": self.core_requests > 0 and self.core_unanswered == 0,
            "the member was not taken back": self.final_state == "expired",
            "the ruleset differs after expiry": self.ruleset_equal_after_expiry,
            "the ruleset differs after the guard was removed": self.ruleset_equal_after_guard_removed,
            "a foreign counter was reset": self.foreign_counter_kept,
            "the audit chain is broken": self.audit_ok,
        }
        return [promise for promise, holds in checks.items() if not holds]


class Loop:
    """One run."""

    def __init__(self, topology: Topology, service: Service, rng: random.Random, report: Report) -> None:
        self.net, self.service, self.rng, self.report = topology, service, rng, report
        self.processes: list[subprocess.Popen[str]] = []
        self.server = topology.server_addresses[0]
        self.core, *rest = rng.sample(topology.client_addresses, 4)
        self.offenders = rest[:2]
        self.port = rng.randrange(20_000, 30_000)

    def traffic(self, role: str, where: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
        flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
        argv = [*self.net.inside(where), sys.executable, "-m", "flowguard.lab.net.traffic", role, *arguments, *flags]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def go(self) -> None:
        ask = self._prepare()
        self._nothing_happens_without_worker()
        self._act_and_prove()
        self._expire()
        self._settle_core(ask)
        self._remove_guard()

    def _prepare(self) -> subprocess.Popen[str]:
        plain = self.net.ruleset()
        self.plain = plain
        token = provision(self.net, core=self.core, ttl_s=ENFORCEMENT_TTL_S)
        install_guard("router", "in0", self.service)
        self.guarded = self.net.ruleset()
        self._sensor(token)
        self.traffic("serve", "servers", self.server, str(self.port), dscp=46)
        time.sleep(1.0)
        ask = self.traffic("ask", "clients", self.core, self.server, str(self.port), dscp=46, per_second=40)
        from flowguard.models import Observation, Verdict

        wait("the sensor's first observations", Observation.objects.exists, 30)
        time.sleep(3.0)
        self.report.verdicts_before_offence = Verdict.objects.count()
        self.foreign = self._foreign()
        return ask

    def _sensor(self, token: str) -> None:
        folder = self.net.folder / "sensor"
        folder.mkdir()
        (folder / "token").write_text(token)
        (folder / "token").chmod(0o600)
        (folder / "sensor.toml").write_text(
            f'name = "mirror"\nurl = "{self.service.url}"\ntoken_file = "token"\ninsecure = true\n'
            "batch_interval_ms = 250\nbundle_interval_ms = 1000\n"
            '[[points]]\nname = "before"\ninterface = "c0"\n[[points]]\nname = "behind"\ninterface = "s0"\n'
            '[spool]\ndir = "spool"\nmax_mb = 64\n'
        )
        argv = [*self.net.inside("mirror"), POLICYHUB, "sensor", "run", "--config", str(folder / "sensor.toml")]
        log = (self.net.folder / "sensor.log").open("w")
        self.processes.append(subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT, text=True))

    def _nothing_happens_without_worker(self) -> None:
        """The push worker is frozen: a verdict and a decision may come, but not one byte changes on the router."""
        from flowguard.models import Enforcement

        if not self.service.signal_workers("worker-enforce@", signal.SIGSTOP):
            raise RuntimeError("no enforcement worker is running")
        bulk = self.traffic("bulk", "clients", self.offenders[0], self.server, str(self.port), dscp=46, mbps=6)
        first = Enforcement.objects.filter(member=f"{self.offenders[0]}/32")
        wait("the decision to act on the first offender", first.filter(state="applying").exists, ACT_WITHIN_S)
        time.sleep(QUIET_S)
        self.report.unchanged_while_worker_stopped = (
            self.net.ruleset() == self.guarded and first.filter(state="applying").exists()
        )
        bulk.terminate()
        bulk.wait()
        self.service.signal_workers("worker-enforce@", signal.SIGCONT)
        wait("the first enforcement is settled", lambda: self._ended(f"{self.offenders[0]}/32"), ACT_WITHIN_S + ENFORCEMENT_TTL_S)

    def _ended(self, member: str) -> bool:
        from flowguard.models import Enforcement

        return Enforcement.objects.filter(member=member, state__in=("expired", "reverted", "failed", "needs-person")).exists()

    def _act_and_prove(self) -> None:
        from flowguard.models import Enforcement

        member = f"{self.offenders[1]}/32"
        self.report.offender = member
        kind = self.rng.choice(("bulk", "udp"))
        self.report.notes.append(f"the offender sends {kind} at 8 Mbit/s to port {self.port}")
        self.traffic(kind, "clients", self.offenders[1], self.server, str(self.port), dscp=46, mbps=8)
        row = wait(
            "the offender is enforced and judged",
            lambda: Enforcement.objects.filter(member=member).exclude(outcome="").first(),
            ACT_WITHIN_S + 30,
        )
        self.report.outcome = row.outcome
        self.report.seconds_to_verified = row.after.get("seconds_from_first_packet", -1.0)
        self.report.marked_share_before = row.after["before"]["marked_share"] or 0.0
        self.report.marked_share_after = row.after["after"]["marked_share"] or 0.0
        self.report.member_on_router = self.offenders[1] in self.net.nft("list", "sets")
        self._count_with_tcpdump()

    def _count_with_tcpdump(self) -> None:
        """A second, independent witness behind the router."""
        source = self.offenders[1]
        argv = [*self.net.inside("mirror"), "timeout", "2", "tcpdump", "-nn", "-l", "-q", "-v", "-i", "s0", "src", "host", source]
        seen = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
        marks = re.findall(r"\(tos 0x([0-9a-f]+)", seen)
        self.report.tcpdump_packets_after = len(marks)
        self.report.tcpdump_marked_packets_after = sum(int(tos, 16) >> 2 == 46 for tos in marks)

    def _expire(self) -> None:
        from flowguard.models import Enforcement

        row = Enforcement.objects.get(member=self.report.offender)
        for process in self.processes:
            if self.offenders[1] in process.args:  # type: ignore[operator]
                process.terminate()
        row = wait("the member is taken back", lambda: self._row_ended(row.pk), ENFORCEMENT_TTL_S + ACT_WITHIN_S)
        self.report.final_state = row.state
        self.report.ruleset_equal_after_expiry = self.net.ruleset() == self.guarded

    def _row_ended(self, pk: int):
        from flowguard.models import Enforcement

        return Enforcement.objects.filter(pk=pk, ended_at__isnull=False).first()

    def _settle_core(self, ask: subprocess.Popen[str]) -> None:
        from flowguard.models import Observation

        ask.terminate()
        figures = json.loads(ask.communicate(timeout=15)[0])
        self.report.core_requests = figures["requests"]
        self.report.core_unanswered = figures["requests"] - figures["answers"]
        marks: dict[bool, int] = {True: 0, False: 0}
        for row in Observation.objects.filter(point__name="behind"):
            for source in row.sources:
                if source["src"] == self.core:
                    marks[source["dscp"] == 46] += source["packets"]
        self.report.core_marked_share = marks[True] / max(1, sum(marks.values()))
        self.report.foreign_counter_kept = self._foreign() > self.foreign > 0

    def _foreign(self) -> int:
        found = FOREIGN.search(self.net.nft("list", "counter", "inet", "site", "forwarded"))
        return int(found.group(1)) if found else -1

    def _remove_guard(self) -> None:
        from flowguard.models import Guard
        from policyhub.actions import audit

        install_guard("router", "in0", self.service, remove=True)
        self.report.ruleset_equal_after_guard_removed = self.net.ruleset() == self.plain
        assert Guard.objects.get().state == Guard.State.REMOVED
        self.report.audit_ok = not audit.verify().broken

    def close(self) -> None:
        for process in self.processes:
            process.kill()


def demonstrate(seed: int, folder: Path) -> Report:
    """Run the loop once. Raises NamespaceError, LabTimeout."""
    began = time.monotonic()
    rng = random.Random(seed)
    report = Report(seed=seed)
    with (
        Topology(folder / "net", rng) as net,
        Service(folder / "data", net.management_mirror_host, rng.randrange(30_000, 40_000)) as service,
    ):
        open_database(folder / "data")
        loop = Loop(net, service, rng, report)
        try:
            loop.go()
        finally:
            loop.close()
    report.seconds = round(time.monotonic() - began, 1)
    return report


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, default=None, help="keep data and logs in this folder")
    args = parser.parse_args(argv)
    seed = args.seed if args.seed is not None else int(datetime.now(UTC).timestamp())
    with tempfile.TemporaryDirectory(prefix="phnet") as folder:
        report = demonstrate(seed, args.keep or Path(folder))
    broken = report.broken()
    if args.json:
        sys.stdout.write(json.dumps({**asdict(report), "broken": broken}) + "\n")
    else:
        lines = [f"{name.replace('_', ' ')}: {value}" for name, value in asdict(report).items()]
        sys.stdout.write("\n".join([*lines, *(f"BROKEN: {promise}" for promise in broken)]) + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
