"""What `policyhub check` does between reading files and printing: platforms, counters to devices, checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from policyhub.checks.context import DEFAULT_WINDOW_DAYS, Context
from policyhub.checks.occasion import Occasion, occasion_of, parse_moment
from policyhub.checks.registry import Check, run_checks
from policyhub.checks.seen_flows import SeenFlow, rules_seen
from policyhub.domain.device_config import DeviceConfig, Unparsed
from policyhub.domain.errors import BadInput
from policyhub.domain.finding import Finding
from policyhub.domain.hits import HitSample, RuleUse, in_utc
from policyhub.domain.identity import Identity
from policyhub.domain.message import Message, gettext_noop
from policyhub.management.inputs import Inputs, Skipped, TextFile, gather
from policyhub.vendorkit.contract import Capability, Vendor
from policyhub.vendorkit.registry import REGISTRY, VendorRegistry

FAILOVER = re.compile(r"^failover\s*$", re.MULTILINE)
DEFECT = gettext_noop("the parser of %(vendor)s failed (%(error)s); this is a defect, please report it")
STRANGER = gettext_noop("counters of %(host)r, and no given %(platform)s configuration has this host name")
TWO_OWNERS = gettext_noop("its counters fit %(first)s and %(second)s; it needs a prompt or host name")
OTHER = gettext_noop(
    "%(unparsed)d of its %(lines)d lines are not understood as %(platform)s (first: line %(line)d); it looks like %(other)s"
)
NOTHING = gettext_noop("nothing of it is understood as %(platform)s (line %(line)d: %(text)r)")
NO_COUNTERS = gettext_noop("no hit counters and no traffic log of %(platforms)s in it")
BUT_UNREAD = gettext_noop("%(reason)s; lines not read: %(count)d (first: %(lines)s), %(why)s")
NOT_READ = gettext_noop("lines not read: %(count)d (first: %(lines)s), %(why)s")
FIRST, SHOWN = 5, 60
CLOCK_SLACK = timedelta(days=1)  # zones that are not known are taken as UTC
CLOCK_OLDEST = datetime(
    2014, 1, 1, tzinfo=UTC
)  # clocks that nobody set start at 1970, 1993 (IOS), 2000 (VRP), 2011 or 2013 (Comware)
UNIT = re.compile(r"/(?:pri|sec)$")


@dataclass(frozen=True, slots=True)
class Options:
    """now: for expiry. platform "": by content."""

    checks: Sequence[Check]
    now: datetime | None
    platform: str = ""
    window_days: int = DEFAULT_WINDOW_DAYS
    flows: tuple[SeenFlow, ...] = ()
    identities: tuple[Identity, ...] = ()


@dataclass(slots=True)
class Device:
    """One configuration file; samples come from the file itself and from --hits, uses from traffic logs given as --hits."""

    file: str
    vendor: Vendor
    config: DeviceConfig
    text: str
    samples: list[HitSample] = field(default_factory=list)
    uses: list[RuleUse] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()

    @property
    def label(self) -> str:
        return self.config.hostname or self.file


@dataclass(frozen=True, slots=True)
class Unread:
    """Lines of a file of counters or logs that could not be read, all for one reason; the file's other lines were."""

    file: str
    lines: tuple[Unparsed, ...]

    @property
    def said(self) -> Message:
        return Message(NOT_READ, _first(self.lines))


def _first(lines: tuple[Unparsed, ...]) -> dict[str, object]:
    numbers = ", ".join(str(line.line) for line in lines[:FIRST])
    return {"count": len(lines), "lines": numbers, "why": Message(lines[0].reason)}


@dataclass(slots=True)
class Report:
    devices: list[Device]
    skipped: list[Skipped]
    window_days: int
    unread: list[Unread] = field(default_factory=list)

    @property
    def findings(self) -> list[tuple[Device, Finding]]:
        """All findings with their device, worst first."""
        found = [(device, finding) for device in self.devices for finding in device.findings]
        return sorted(found, key=lambda pair: -pair[1].severity.rank)


def audit(inputs: Inputs, hits: Iterable[str], options: Options, registry: VendorRegistry = REGISTRY) -> Report:
    """Parses, joins counters, runs the checks. Raises BadInput when nothing is left, UnknownPlatform for a wrong name."""
    skipped = list(inputs.skipped)
    devices: list[Device] = []
    for file in inputs.files:
        vendor = registry.get(options.platform) if options.platform else registry.detect(file.text)
        if vendor is None:
            known = {"platforms": ", ".join(registry.names())}
            skipped.append(
                Skipped(
                    file.name, Message(gettext_noop("no known platform: its content looks like none of %(platforms)s"), known)
                )
            )
            continue
        try:
            device = Device(file.name, vendor, vendor.parse(file.text), file.text)
            wrong = _not_of_its_platform(device, registry if options.platform else None)
            if wrong:
                skipped.append(Skipped(file.name, wrong))
            else:
                devices.append(device)
        except Exception as error:  # parsers are total; should one fail all the same, the other files are still audited
            values = {"vendor": vendor.name, "error": f"{type(error).__name__}: {error}"}
            skipped.append(Skipped(file.name, Message(DEFECT, values)))
    if not devices:
        first = skipped[0] if skipped else Skipped("", Message(gettext_noop("the folder holds no file")))
        cure = Message(gettext_noop("Give --platform, or a device configuration"))
        raise BadInput.at(first.file or "input", None, first.said, cure)
    devices = _own_counters(devices, skipped)
    report = Report(devices, skipped, options.window_days)
    for given in hits:
        _read_hits(given, report, registry)
    for device in devices:
        device.findings = _check(device, options)
    return report


def _not_of_its_platform(device: Device, registry: VendorRegistry | None) -> Message | None:
    """Why "nothing found" would be a false all-clear; with a registry the platform was named, and content may name another."""
    if not device.config.unparsed:
        return None
    strange = device.config.unparsed[0]
    told: dict[str, object] = {"platform": device.vendor.name, "line": strange.line}
    if _is_nothing(device):
        return Message(NOTHING, {**told, "text": strange.text[:SHOWN]})
    written = sum(1 for line in device.text.splitlines() if line.strip())
    unparsed = len(device.config.unparsed)
    if registry is None or unparsed * 2 <= written:
        return None
    other = registry.detect(device.text)
    if other is None or other.name == device.vendor.name:
        return None
    return Message(OTHER, {**told, "unparsed": unparsed, "lines": written, "other": other.name})


def _is_nothing(device: Device) -> bool:
    """Not one line was understood, not even as one that may be ignored or that counts."""
    config, vendor = device.config, device.vendor
    held = (
        config.policies, config.qos_policies, config.interfaces, config.addresses, config.services, config.groups, config.zones,
        config.schedules, config.nat_rules, config.routes, config.dscp_maps, config.qos_maps, config.trusts, config.losslessness,
        config.ignored, config.special, config.hostname,
    )  # fmt: skip
    if not config.unparsed or any(held):
        return False
    return vendor.counters(device.text, None) is None and not (vendor.rule_uses and vendor.rule_uses(device.text))


def _check(device: Device, options: Options) -> tuple[Finding, ...]:
    context = Context(
        device.config,
        hits=tuple(_dated(sample, options.now) for sample in device.samples),
        uses=tuple(device.uses),
        counts_hits=Capability.HIT_COUNTS in device.vendor.capabilities,
        members=2 if device.vendor.name == "cisco_asa" and FAILOVER.search(device.text) else 1,
        window_days=options.window_days,
        now=options.now,
        seen=rules_seen(device.config.policies, options.flows) if options.flows else {},
        identities=options.identities,
    )
    return tuple(replace(finding, device=device.label) for finding in run_checks(context, options.checks))


def _dated(sample: HitSample, now: datetime | None) -> HitSample:
    """Without its date if a clock gave that which runs ahead or was never set: its zeros then prove nothing."""
    if now is None or sample.read_at is None or CLOCK_OLDEST <= in_utc(sample.read_at) <= now + CLOCK_SLACK:
        return sample
    return replace(sample, read_at=None, counting_since=None, covers_from=None)


def _own_counters(devices: list[Device], skipped: list[Skipped]) -> list[Device]:
    """Counters that stand in the given files. A file with nothing but counters belongs to the device that has their rules."""
    kept: list[Device] = []
    loose: list[tuple[Device, HitSample]] = []
    for device in devices:
        sample = _sample(device.vendor, device.text, None)
        if sample is not None and _only_counters(device.config):
            loose.append((device, sample))
            continue
        if sample is not None:
            device.samples.append(sample)
        kept.append(device)
    for device, sample in loose:
        owner, _ = _owner(sample, kept)
        if owner is not None:
            owner.samples.append(sample)
        else:
            device.samples.append(sample)
            kept.append(device)
    return kept


def _only_counters(config: DeviceConfig) -> bool:
    bound = any(policy.bindings for policy in config.policies)
    return not (config.interfaces or config.qos_policies or config.groups or config.addresses or bound)


def _read_hits(given: str, report: Report, registry: VendorRegistry) -> None:
    path, moment = split_moment(given)
    inputs = gather([path])
    report.skipped += inputs.skipped
    for file in inputs.files:
        reason = _assign(file, moment, report.devices, registry)
        groups = _by_reason(_unread(file, report.devices))
        if reason is None:
            report.unread += [Unread(file.name, lines) for lines in groups]
        elif groups and reason.template == NO_COUNTERS:
            report.skipped.append(Skipped(file.name, Message(BUT_UNREAD, {"reason": reason, **_first(groups[0])})))
        else:
            report.skipped.append(Skipped(file.name, reason))


def _by_reason(lines: Iterable[Unparsed]) -> list[tuple[Unparsed, ...]]:
    groups: dict[str, list[Unparsed]] = {}
    for line in lines:
        groups.setdefault(line.reason, []).append(line)
    return [tuple(group) for group in groups.values()]


def _unread(file: TextFile, devices: list[Device]) -> tuple[Unparsed, ...]:
    """By the platforms of the given configurations; what one of them reads the others have no sign of."""
    found: dict[int, Unparsed] = {}
    for vendor in {device.vendor.name: device.vendor for device in devices}.values():
        for line in vendor.unread_hits(file.text) if vendor.unread_hits else ():
            found.setdefault(line.line, line)
    return tuple(found[number] for number in sorted(found))


def _assign(file: TextFile, moment: datetime | None, devices: list[Device], registry: VendorRegistry) -> Message | None:
    """Gives the counters of a file to their device; the reason when that fails."""
    names = sorted({device.vendor.name for device in devices})
    for name in names:
        sample = _sample(registry.get(name), file.text, moment)
        if sample is not None:
            owner, reason = _owner(sample, devices)
            if owner is not None:
                owner.samples.append(sample)
            return reason
    if _logged(file, devices):
        return None
    return Message(NO_COUNTERS, {"platforms": ", ".join(names)})


def _logged(file: TextFile, devices: list[Device]) -> bool:
    """Gives what a traffic log shows to the devices whose rules it names; whether it names any."""
    taken = False
    for device in devices:
        read = device.vendor.rule_uses
        keys = {key for policy in device.config.policies for rule in policy.rules for key in (rule.hit_key, rule.name)}
        mine = [use for use in (read(file.text) if read else ()) if use.key in keys and _is_from(use, device)]
        device.uses += mine
        taken = taken or bool(mine)
    return taken


def _is_from(use: RuleUse, device: Device) -> bool:
    return not use.hostname or not device.config.hostname or UNIT.sub("", use.hostname) == device.config.hostname


def split_moment(given: str) -> tuple[str, datetime | None]:
    """`PATH@2026-11-01T08:00` -> path and moment; a path that exists as written wins. Raises BadInput for a wrong moment."""
    path, at, moment = given.rpartition("@")
    if not at or Path(given).exists():
        return given, None
    try:
        return path, parse_moment(moment)
    except ValueError:
        said = Message(gettext_noop("%(text)r is not a date and time"), {"text": moment})
        cure = Message(gettext_noop("Write e.g. hits.txt@2026-11-01T08:00"))
        raise BadInput.at(given, None, said, cure) from None


def _sample(vendor: Vendor, text: str, moment: datetime | None) -> HitSample | None:
    """Counters with what the text says about the reading; the vendor's own knowledge wins."""
    if Capability.HIT_COUNTS not in vendor.capabilities:
        return None
    sample = vendor.counters(text, None)
    if sample is None:
        return None
    occasion = occasion_of(text, moment)
    if occasion.read_at is not None:
        sample = vendor.counters(text, occasion.read_at) or sample
    return replace(
        sample,
        read_at=sample.read_at or occasion.read_at,
        counting_since=sample.counting_since or occasion.counting_since,
        hostname=_member(sample.hostname, occasion),
    )


def _member(hostname: str, occasion: Occasion) -> str:
    """The prompt names the unit of a cluster, too; it counts unless the text's own host name says otherwise."""
    return occasion.member if occasion.member and hostname in ("", occasion.hostname) else hostname


def _owner(sample: HitSample, devices: list[Device]) -> tuple[Device | None, Message | None]:
    """The device whose counters these are, by platform, then host name, then by the rules that they name."""
    same = [device for device in devices if device.vendor.name == sample.platform]
    host = UNIT.sub("", sample.hostname)
    if host:
        named = [device for device in same if device.config.hostname in (host, "")]
        if not named:
            return None, Message(STRANGER, {"host": host, "platform": sample.platform})
        same = named
    fitting = sorted(((_joined(sample, device), device) for device in same), key=lambda pair: -pair[0])
    if not fitting or not fitting[0][0]:
        return None, Message(gettext_noop("its counters name no rule of the given configurations"))
    if len(fitting) > 1 and fitting[0][0] == fitting[1][0]:
        return None, Message(TWO_OWNERS, {"first": fitting[0][1].file, "second": fitting[1][1].file})
    return fitting[0][1], None


def _joined(sample: HitSample, device: Device) -> int:
    keys = {(policy.name, rule.hit_key) for policy in device.config.policies for rule in policy.rules}
    return sum((count.policy, count.key) in keys for count in sample.hits)
