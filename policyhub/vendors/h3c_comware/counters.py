"""Counters of `display acl` and of packet filters, security policies and object policies; uses in filter logs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample, RuleUse
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.lexing import MONTHS
from policyhub.vendorkit.unread_hits import NO_COUNT, NO_USE, in_order, is_garbled, signed_lines
from policyhub.vendors.h3c_comware.acls import SHOWN, SHOWN_ABOUT, SHOWN_STEP

PROMPT = re.compile(r"^(?:RBM_[PS])?[<\[][~*]?(?P<host>[\w.\-/:@]{1,64})[>\]]\s?(?P<command>.*)$")
SYSNAME = re.compile(r"^sysname (\S+)$", re.IGNORECASE)
RULE = re.compile(r"^rule (?P<id>\d{1,10})\b(?! comment)", re.IGNORECASE)
MATCHES = re.compile(r"\((\d{1,20}) times? matched\)|\((\d{1,20}) packets?\)", re.IGNORECASE)
FILTER_ACL = re.compile(
    r"^(?:(?P<family>IPv4|IPv6|MAC|User-defined) )?ACL (?:named )?(?P<name>[^\s,]+)(?P<rest>, .*)?$", re.IGNORECASE
)
OBJECT_POLICY = re.compile(r"^Object-policy apply (?P<family>ipv6|ip) (?P<name>\S+)$")  # a configuration writes it small
SECURITY = re.compile(
    r"^(?:IPv(?P<family>[46]) security policy rule: (?P<name>.+)|rule (?P<id>\d{1,10}) name (?P<named>.+?)(?: \(inactive\))?)$",
    re.IGNORECASE,
)
SECURITY_COUNT = re.compile(
    r"^action:? (?:pass|drop)\b.{0,40}?\((?P<packets>\d{1,20}) packets?(?:, (?P<bytes>\d{1,20}) bytes)?\)", re.IGNORECASE
)
WANTS = re.compile(r"security-policy (?:statistics|hit-count)(?: (?P<family>ipv6|ip))?", re.IGNORECASE)
POLICY_BLOCK = re.compile(r"^security-policy(?: (ipv6|ip))?$", re.IGNORECASE)
TABLE = re.compile(r"^(?:rule )?(?:id|no\.?)\s+(?:rule )?name\b.*\bhits?\b", re.IGNORECASE)
TABLE_ROW = re.compile(r"^(?P<id>\d{1,10})\s+(?P<name>\S.*?)\s{1,40}(?:\S+\s+){0,6}(?P<hits>\d{1,20})$")
SIGN = re.compile(r"^rule \d+\b.*\(|^action:? (?:pass|drop)\b.*\(|%%\d\d(?:FILTER|OBJP)/\d/", re.IGNORECASE)
OTHER_OUTPUT = re.compile(
    r"^(Interface: \S+|(In|Out)-bound policy:|From .{10,40} to .{10,40}|Totally \d+%? .*|.{0,20}default action.*"
    r"|Object-policy accelerated|Zone-pair source .*|action:? (pass|drop)\b.*\(.*\)|Global:?|-{10,})$",
    re.IGNORECASE,
)
HEADS = ("id ", "no.", "rul")  # of tables
LOG = re.compile(r"(?:(?P<host>\S+) )?%%\d\d(?P<module>FILTER|OBJP|NAT|SESSION)/\d/(?P<kind>\w+)")
FIELD = re.compile(r"(\w+)(?:\(\d+\))?=([^;]*)")
MONTH_FIRST = re.compile(r"([A-Z][a-z]{2})\s+(\d{1,2})\s+(\d{1,2}):(\d{2}):(\d{2})(?:[:.]\d+)?\s+(\d{4})")
NUMBERS = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})[ T]+(\d{1,2}):(\d{2}):(\d{2})")


@dataclass(slots=True)
class _Sample:
    """What was read so far; `rule` waits for the count that stands on the next line."""

    hits: dict[tuple[str, str], HitCount] = field(default_factory=dict)
    counts: set[str] = field(default_factory=set)
    policy: str = ""
    rule: str = ""
    kind: str = ""
    family: str = "ip"
    hostname: str = ""

    def put(self, hit: HitCount, counts: str) -> None:
        """The same rule in several outputs (one per port) is summed."""
        self.counts.add(counts)
        known = self.hits.get((hit.policy, hit.key))
        if known is not None and known.hits is not None and hit.hits is not None:
            size = known.bytes + hit.bytes if known.bytes is not None and hit.bytes is not None else None
            hit = HitCount(hit.policy, hit.key, known.hits + hit.hits, size, line=known.line)
        elif known is not None and hit.hits is None:
            return
        self.hits[(hit.policy, hit.key)] = hit


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when the text holds no counter. counts: matches (display acl, object policies) or packets."""
    sample = _Sample()
    uncounted: list[tuple[str, str, int]] = []
    policy, rule, counted = "", "", True
    for line in read_lines(text):
        _line(sample, line)
        block = POLICY_BLOCK.match(line.text)
        if block:
            policy = f"security-policy {block[1].lower()}" if block[1] else "security-policy"
        elif line.text.startswith("#"):
            policy = policy if line.indent else ""
        if policy and line.text.startswith("rule "):
            uncounted += [] if counted or not rule else [(policy, rule, 0)]
            found = SECURITY.match(line.text)
            rule, counted = (found["named"] or "").strip('"') if found else "", False
        counted = counted or line.text == "counting enable"
    uncounted += [] if counted or not rule else [(policy or "security-policy ip", rule, 0)]
    if not sample.hits:
        return None
    for name, key, _ in uncounted:
        if (name, key) not in sample.hits and any(policy == name for policy, _ in sample.hits):
            sample.hits[(name, key)] = HitCount(name, key, None)
    counts = "packets" if "packets" in sample.counts else "matches"
    hits = tuple(sample.hits.values())
    return HitSample("h3c_comware", counts, hits, zero_is_printed=counts == "packets", read_at=read_at, hostname=sample.hostname)


def _line(sample: _Sample, line: Line) -> None:
    text = line.text
    prompt = PROMPT.match(text)
    named = SYSNAME.match(text)
    if prompt:
        sample.hostname = sample.hostname or prompt["host"]
        wants = WANTS.search(prompt["command"])
        sample.kind, sample.policy, sample.rule = ("security" if wants else ""), "", ""
        sample.family = (wants["family"] or "ip").lower() if wants else "ip"
    elif named:
        sample.hostname = sample.hostname or named[1]
    elif _heading(sample, text) or _security(sample, line):
        return
    elif sample.kind in ("acl", "filter", "object"):
        _rule(sample, line)


def _heading(sample: _Sample, text: str) -> bool:
    """A line that says whose rules follow."""
    shown, object_policy = SHOWN.match(text), OBJECT_POLICY.match(text)
    bound = (
        FILTER_ACL.match(text)
        if text[:12].lower().startswith(("ipv4 acl", "ipv6 acl", "acl ", "mac acl", "user-defined"))
        else None
    )
    if shown:
        alias = shown["alias"] or ""
        sample.kind, sample.policy = "acl", alias if alias and alias != "-none-" else shown["name"]
    elif object_policy:
        sample.kind, sample.policy = "object", f"object-policy {object_policy['family'].lower()} {object_policy['name']}"
    elif bound and (bound["family"] or bound["rest"]):
        sample.kind, sample.policy = "filter" if "count" in (bound["rest"] or "").lower() else "uncounted", bound["name"]
    elif TABLE.match(text):
        sample.kind, sample.policy = "table", ""
    else:
        return False
    sample.rule = ""
    return True


def _security(sample: _Sample, line: Line) -> bool:
    """`rule 0 name X` and `action: pass (5 packets, 1000 bytes)`, or a row of the hit table."""
    found = SECURITY.match(line.text)
    if found:
        if found["family"]:
            sample.family = "ipv6" if found["family"] == "6" else "ip"
        sample.rule = (found["name"] or found["named"] or "").strip('"')
        return True
    count = SECURITY_COUNT.match(line.text) if sample.rule else None
    if count:
        size = int(count["bytes"]) if count["bytes"] else None
        policy = f"security-policy {sample.family}"
        sample.put(HitCount(policy, sample.rule, int(count["packets"]), size, line=line.number), "packets")
        sample.rule = ""
        return True
    row = TABLE_ROW.match(line.text) if sample.kind == "table" else None
    if row:
        policy = f"security-policy {sample.family}"
        sample.put(HitCount(policy, row["name"].split("  ")[0].strip(), int(row["hits"]), line=line.number), "packets")
    return row is not None


def _rule(sample: _Sample, line: Line) -> None:
    rule = RULE.match(line.text)
    if rule is None:
        if not (line.text and (SHOWN_STEP.match(line.text) or SHOWN_ABOUT.match(line.text) or is_output(line.text))):
            still = line.text.lower().startswith("rule ")
            sample.kind = sample.kind if still else ""
        return
    if is_garbled(line.text, MATCHES):
        return
    found = MATCHES.search(line.text)
    hits = int(found[1] or found[2]) if found else None
    key = rule["id"] if sample.kind == "object" else f"{sample.policy} {rule['id']}"
    sample.put(HitCount(sample.policy, key, hits, line=line.number), "packets" if sample.kind == "filter" else "matches")


def is_output(text: str) -> bool:
    """A line of such an output that holds no rule."""
    return OTHER_OUTPUT.match(text) is not None


def output_lines(lines: Iterable[Line]) -> list[int]:
    """Numbers of the lines that belong to statistics: rules there are copies of configured ones."""
    taken: list[int] = []
    inside = False
    for line in lines:
        text = line.text
        if not inside and "a" <= text[:1] <= "z" and "(" not in text and "%%10" not in text and text[:3] not in HEADS:
            continue  # most lines of a configuration
        if PROMPT.match(text):
            taken.append(line.number)
            inside = False
        elif is_output(text) or TABLE.match(text) or OBJECT_POLICY.match(text) or ("%%10" in text and LOG.search(text)):
            taken.append(line.number)
            inside = True
        elif inside and (FILTER_ACL.match(text) or RULE.match(text) or SECURITY.match(text) or TABLE_ROW.match(text) or not text):
            taken += [line.number] if text else []
        elif text.lower().startswith("ipv4 security policy rule:") or text.lower().startswith("ipv6 security policy rule:"):
            taken.append(line.number)
            inside = True
        else:
            inside = False
    return taken


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Counts that are no numbers, and logs of filters that name no rule."""
    return in_order(signed_lines(text, SIGN, _why_unread))


def _why_unread(text: str) -> str:
    if text.lower().startswith("rule "):
        return NO_COUNT if is_garbled(text, MATCHES) else ""
    if text.lower().startswith("action"):
        return "" if SECURITY_COUNT.match(text) else NO_COUNT
    told = {key.lower() for key, value in FIELD.findall(text) if value.strip()}
    return "" if told & {"objectpolicy", "securitypolicy", "rulename"} else NO_USE


def rule_uses(text: str) -> tuple[RuleUse, ...]:
    """Filter logs: uses per rule, summed over MatchCount."""
    found: dict[tuple[str, str, str], RuleUse] = {}
    for line in text.split("\n"):
        log = LOG.search(line) if "%%" in line else None
        if log is None or log["module"] not in ("FILTER", "OBJP"):
            continue
        told = {key.lower(): value.strip() for key, value in FIELD.findall(line[log.end() :])}
        family = "ipv6" if "IPV6" in log["kind"].upper() else "ip"
        if told.get("objectpolicy"):
            policy, key = f"object-policy {family} {told['objectpolicy']}", told.get("ruleid", "")
        elif told.get("securitypolicy") or told.get("rulename"):
            policy, key = f"security-policy {family}", told.get("rulename") or told["securitypolicy"]
        else:
            continue
        count = told.get("matchcount", "1")
        at = _time(line, log.start())
        where = (log["host"] or "", policy, key)
        known = found.get(where)
        times = [time for time in (at, known.first_at if known else None, known.last_at if known else None) if time]
        sessions = (known.sessions if known else 0) + (int(count) if count.isascii() and count.isdigit() else 1)
        found[where] = RuleUse(policy, key, sessions, min(times) if times else None, max(times) if times else None, where[0])
    return tuple(found.values())


def _time(line: str, header_ends: int) -> datetime | None:
    """The time in front of the message, in the device's own zone."""
    text = line[:header_ends]
    month, numbers = MONTH_FIRST.search(text), NUMBERS.search(text)
    try:
        if month and month[1].lower() in MONTHS:
            day, hour, minute, second, year = (int(part) for part in month.groups()[1:])
            return datetime(year, MONTHS.index(month[1].lower()) + 1, day, hour, minute, second)  # noqa: DTZ001
        if numbers:
            year, number, day, hour, minute, second = (int(part) for part in numbers.groups())
            return datetime(year, number, day, hour, minute, second)  # noqa: DTZ001
    except ValueError:
        return None
    return None
