"""From tables and chains to policies, NAT rules, QoS and the path of a packet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy
from policyhub.domain.rules import COMES_BACK, Action, Binding, Policy, Rule
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.sharing import drained
from policyhub.vendorkit.xtables.facts import ANY_OF, Context, Facts
from policyhub.vendorkit.xtables.listing import read_listed
from policyhub.vendorkit.xtables.options import dscp_value, number, option_values, read_options
from policyhub.vendorkit.xtables.ruleset import BUILT_IN, Chain, Entry, Ruleset, Table

HOOKS = {"PREROUTING": "prerouting", "INPUT": "input", "FORWARD": "forward", "OUTPUT": "output", "POSTROUTING": "postrouting"}
HOOK_ORDER = ("prerouting", "input", "forward", "output", "postrouting")
BEFORE = {"raw": 0, "mangle": 1, "nat": 2, "filter": 3, "security": 4}
LAST_NAT = {**BEFORE, "nat": 5}  # source translation: behind the filter
POLICIES = {"ACCEPT": Action.PERMIT, "DROP": Action.DENY, "": Action.PERMIT}
LOGGING = frozenset({"LOG", "NFLOG", "ULOG", "TRACE"})
NAT_KINDS = {
    "SNAT": NatKind.SOURCE, "MASQUERADE": NatKind.SOURCE, "SAME": NatKind.SOURCE, "DNAT": NatKind.DESTINATION,
    "REDIRECT": NatKind.DESTINATION, "NETMAP": NatKind.STATIC,
}  # fmt: skip
ADDED = re.compile(r"add-set (\S+)")
DSCP_BITS, MARK_BITS = 0xFC, 0xFFFFFFFF


@dataclass(slots=True)
class Counted:
    """A rule of the text with its counter; hits None: no number is printed."""

    policy: str
    key: str
    hits: int | None
    bytes: int | None
    line: int


@dataclass(slots=True)
class Built:
    policies: list[Policy] = field(default_factory=list)
    nat_rules: list[NatRule] = field(default_factory=list)
    qos_policies: list[QosPolicy] = field(default_factory=list)
    evaluation: tuple[Stage, ...] = ()
    counted: list[Counted] = field(default_factory=list)


@dataclass(slots=True)
class _Draft:
    """What of a chain has to wait until all chains of its table are read."""

    classes: list[QosClass] = field(default_factory=list)
    targets: set[str] = field(default_factory=set)
    returns: bool = False


def title(table: Table, chain: str) -> str:
    family = "ip" if table.version == 4 else "ip6"
    prefix = f"dump {table.dump}/" if table.dump > 1 else ""
    return f"{prefix}{family} {table.name} {chain}"


def build(ruleset: Ruleset, context: Context, ledger: LineLedger) -> Built:
    ruleset.settle()
    built = Built()
    for entry in (entry for table in ruleset.tables for chain in table.chains.values() for entry in chain.entries):
        if "add-set" in entry.text and (filled := ADDED.search(entry.text)):
            context.sets.filled_by_rules(filled[1])
    for table in ruleset.tables:
        drafts = {chain.name: _chain(built, table, chain, context, ledger) for chain in table.chains.values()}
        hooks = _hooks(table, drafts)
        for chain in table.chains.values():
            _attach(built, table, chain, drafts[chain.name].classes, hooks.get(chain.name, ()))
        if any(draft.returns for draft in drafts.values()):
            built.policies.append(
                Policy(title(table, "RETURN"), (), None, table.version, notes=(COMES_BACK,), context=_context(table))
            )
    built.evaluation = _evaluation(ruleset)
    return built


def _context(table: Table) -> str:
    return f"dump {table.dump}" if table.dump > 1 else ""


def _read(table: Table, entry: Entry, context: Context, ledger: LineLedger) -> Facts | None:
    """None when the rule is not understood; its lines are then booked so."""
    facts = Facts.start(table.version, context)
    try:
        facts = read_listed(facts, entry.row) if entry.row else read_options(facts, entry.options())
        facts.conditions[:0] = entry.conditions
        facts.unresolved += entry.unresolved
        facts.match()
    except NotUnderstood as error:
        for number_ in entry.lines:
            ledger.unparsed(Line(number_, 0, entry.text), str(error))
        return None
    ledger.understood(*entry.lines)
    return facts


def _hooks(table: Table, drafts: dict[str, _Draft]) -> dict[str, tuple[str, ...]]:
    """Built-in chains from which each chain can be reached."""
    found: dict[str, list[str]] = {}
    for base in (name for name in BUILT_IN.get(table.name, ()) if name in table.chains):
        seen, waiting = {base}, [base]
        while waiting:
            here = waiting.pop()
            found.setdefault(here, []).append(base)
            for target in drafts[here].targets - seen:
                seen.add(target)
                waiting.append(target)
    return {name: tuple(bases) for name, bases in found.items()}


def _chain(built: Built, table: Table, chain: Chain, context: Context, ledger: LineLedger) -> _Draft:
    """Rules one by one, so that each entry and what was read of it is forgotten at once: rulesets are large."""
    name = title(table, chain.name)
    draft = _Draft()
    rules: list[Rule] = []
    repeats: dict[str, int] = {}
    for position, entry in enumerate(drained(chain.entries), 1):
        facts = _read(table, entry, context, ledger)
        if facts is None:
            continue
        key = f"{name}: {facts.key_text()}".rstrip(": ")
        seen = repeats[key] = repeats.get(key, 0) + 1
        key = f"{key} #{seen}" if seen > 1 else key
        rule = _rule(table, chain, f"{name} rule {position}", key, entry, facts)
        rules.append(rule)
        draft.returns = draft.returns or rule.target == title(table, "RETURN")
        if facts.target in table.chains:
            draft.targets.add(facts.target)
        made = (
            nat_rule(rule, facts, name, "" if chain.name in HOOKS else chain.name, _context(table))
            if table.name == "nat"
            else None
        )
        if made is not None:
            built.nat_rules.append(made)
        qos = qos_class(rule, facts)
        if qos is not None:
            draft.classes.append(qos)
        packets, octets = entry.counter or (None, None)
        built.counted.append(Counted(name, key, packets, octets, entry.lines[0]))
    built.policies.append(_policy(table, chain, name, rules))
    return draft


def _attach(built: Built, table: Table, chain: Chain, classes: list[QosClass], bases: tuple[str, ...]) -> None:
    if classes:
        lines = tuple(line for made_class in classes for line in made_class.lines)
        attachments = tuple(QosAttachment("", HOOKS[base], tuple(table.chains[base].lines[:1])) for base in bases)
        built.qos_policies.append(QosPolicy(title(table, chain.name), tuple(classes), attachments, lines))


def _policy(table: Table, chain: Chain, name: str, rules: list[Rule]) -> Policy:
    is_base = table.is_built_in(chain.name)
    lines = tuple(sorted({*chain.lines, *(line for rule in rules for line in rule.lines)}))
    bindings = (Binding("", HOOKS[chain.name], tuple(chain.lines[:1])),) if is_base else ()
    default = POLICIES.get(chain.policy) if is_base else None
    purpose = "nat" if table.name == "nat" else "filter"
    return Policy(name, tuple(rules), default, table.version, bindings, lines, True, purpose, (), _context(table))


def _rule(table: Table, chain: Chain, name: str, key: str, entry: Entry, facts: Facts) -> Rule:
    action, target, returns = Action.CONTINUE, "", True
    word = facts.target
    match = facts.match()
    if word in table.chains:
        target, returns = title(table, word), not facts.is_goto
    elif word == "ACCEPT" or (word in NAT_KINDS and table.name == "nat"):
        action = Action.PERMIT
    elif word in ("DROP", "REJECT"):
        action = Action.DENY
    elif word == "RETURN":
        if table.is_built_in(chain.name):
            action = POLICIES.get(chain.policy, Action.CONTINUE)
        else:
            target, returns = title(table, "RETURN"), False
    elif word in ("QUEUE", "NFQUEUE"):
        match = replace(match, conditions=(*match.conditions, " ".join([word, *facts.target_words])))
    elif word and word not in KNOWN_TARGETS:
        match = replace(match, unresolved=(*match.unresolved, f"chain {word}"))
    return Rule(
        name, action, match, entry.lines, entry.text, True, word in LOGGING, facts.comment, facts.schedule, key,
        tuple(dict.fromkeys(facts.references)), target, returns,
    )  # fmt: skip


# targets of iptables-extensions(8) that neither decide nor jump; any other word is a chain that the text does not hold
KNOWN_TARGETS = LOGGING | frozenset(NAT_KINDS) | frozenset({
    "", "MARK", "CONNMARK", "CONNSECMARK", "SECMARK", "DSCP", "TOS", "CLASSIFY", "TCPMSS", "TCPOPTSTRIP", "TTL", "HL",
    "NOTRACK", "CT", "SET", "TEE", "TPROXY", "CHECKSUM", "AUDIT", "RATEEST", "IDLETIMER", "LED", "SYNPROXY", "HMARK",
    "CLUSTERIP", "ECN", "SNPT", "DNPT", "ROUTE", "IMQ", "MIRROR", "TARPIT", "SETQOS", "SETCLASS", "POLICE", "TRICOLORPOLICE",
    "SPAN", "ERSPAN",
})  # fmt: skip


def nat_rule(rule: Rule, facts: Facts, rule_set: str, chain: str, context: str) -> NatRule | None:
    """ACCEPT leaves a packet as it is, and so does RETURN in a built-in chain (`chain` "")."""
    leaves = facts.target == "ACCEPT" or (facts.target == "RETURN" and not chain)
    kind = NAT_KINDS.get(facts.target) or (NatKind.EXEMPT if leaves else None)
    if kind is None:
        return None
    match = replace(rule.match, conditions=(*rule.match.conditions, f"in chain {chain}")) if chain else rule.match
    to, ports = _translated(facts)
    source = destination = ""
    if facts.target == "NETMAP":
        source, destination = ("", to) if rule_set.endswith(("PREROUTING", "OUTPUT")) else (to, "")
    elif kind is NatKind.SOURCE:
        source = "interface" if facts.target == "MASQUERADE" else to
    elif kind is NatKind.DESTINATION:
        destination = "this host" if facts.target == "REDIRECT" else to
    return NatRule(
        rule.name, kind, match, rule.lines, source, destination, ports, rule_set, context, rule.enabled, rule.comment,
        rule.hit_key, rule.references,
    )  # fmt: skip


def _translated(facts: Facts) -> tuple[str, str]:
    """Address and ports of the target, as written by iptables-save or in a listing (`to:`, `masq ports:`, `redir ports`)."""
    options = option_values(facts.target_words)
    words = facts.target_words
    text = options.get("--to-destination") or options.get("--to-source") or options.get("--to") or ""
    ports = options.get("--to-ports", "")
    if words and words[0].startswith("to:"):
        text = words[0][3:]
    elif len(words) > 2 and (words[1] == "ports:" or words[0] == "redir"):
        ports = words[2]
    if text.startswith("["):
        address, _, rest = text[1:].partition("]")
        return address, rest.removeprefix(":") or ports
    if text.count(":") == 1:
        address, _, rest = text.partition(":")
        return address, rest
    return text, ports


def qos_class(rule: Rule, facts: Facts) -> QosClass | None:
    """DSCP, TOS, CLASSIFY and MARK targets, and those of Cumulus switches (SETQOS, SETCLASS)."""
    marker, policer = _marker(facts), _policer(facts)
    if marker is None and policer is None:
        return None
    match = rule.match
    everything = replace(match, dscp=None) == replace(
        match, source=ANY_OF[facts.version], destination=ANY_OF[facts.version], services=(match.services[0],), source_zones=(),
        destination_zones=(), dscp=None, conditions=(), unresolved=(),
    ) and match.services[0].is_any  # fmt: skip
    other = () if everything or not facts.middle else (facts.middle[:200],)
    return QosClass(
        rule.name,
        ClassMatch(dscp=match.dscp, any=everything and match.dscp is None, other=other),
        marker,
        policer,
        lines=rule.lines,
    )


def _marker(facts: Facts) -> Marker | None:
    options = option_values(facts.target_words)
    words = facts.target_words
    printed = words[-1] if len(words) > 2 and words[1] in ("set", "xset") else ""
    try:
        if facts.target in ("DSCP", "SETQOS"):
            value = options.get("--set-dscp") or options.get("--set-dscp-class") or printed
            pcp = options.get("--set-cos")
            return Marker(dscp_value(value) if value else None, number(pcp) if pcp else None) if value or pcp else None
        if facts.target == "TOS":
            value, _, mask = (options.get("--set-tos") or printed).partition("/")
            is_whole = not mask or number(mask) & DSCP_BITS == DSCP_BITS
            return Marker(number(value) >> 2) if value and is_whole else None
        if facts.target == "CLASSIFY":
            minor = (options.get("--set-class") or printed).rpartition(":")[2]
            return Marker(queue=int(minor, 16)) if minor else None
        if facts.target == "SETCLASS":
            return Marker(queue=number(options.get("--class", "") or options.get("--set-class", "")))
        if facts.target == "MARK":
            value, _, mask = (options.get("--set-mark") or options.get("--set-xmark") or printed).partition("/")
            return Marker(queue=number(value)) if value and (not mask or number(mask) == MARK_BITS) else None
    except (NotUnderstood, ValueError):
        return None
    return None


def _policer(facts: Facts) -> Policer | None:
    """POLICE counts packets or kB/s, TRICOLORPOLICE kbit/s (Cumulus Linux, Quality of Service)."""
    options = option_values(facts.target_words)
    try:
        if facts.target == "POLICE":
            in_bytes = options.get("--set-mode", "").upper() == "KB"
            rate, burst = number(options.get("--set-rate", "")), number(options.get("--set-burst", ""))
            return Policer(rate * 8000 if in_bytes else None, burst * 1000 if in_bytes else None)
        if facts.target == "TRICOLORPOLICE":
            dscp = options.get("--set-exceed-action-dscp", "")
            rate, burst = number(options.get("--set-cir", "")), number(options.get("--set-cbs", ""))
            return Policer(rate * 1000, burst * 1000, exceed_action=f"set dscp {dscp}" if dscp else "drop")
    except NotUnderstood:
        return None
    return None


def _evaluation(ruleset: Ruleset) -> tuple[Stage, ...]:
    found: list[tuple[int, int, int, Stage]] = []
    for at, table in enumerate(ruleset.tables):
        for chain in table.chains:
            if not table.is_built_in(chain):
                continue
            hook = HOOKS[chain]
            order = LAST_NAT if hook in ("input", "postrouting") else BEFORE
            kind = StageKind.RAW if table.name == "raw" else StageKind.FILTER
            if table.name == "nat":
                kind = StageKind.SOURCE_NAT if hook in ("input", "postrouting") else StageKind.DESTINATION_NAT
            seen = Seen.TRANSLATED if hook in ("input", "forward", "postrouting") else Seen.ORIGINAL
            stage = Stage(kind, (title(table, chain),), seen, _context(table), hook)
            found.append((HOOK_ORDER.index(hook), order.get(table.name, 3), at, stage))
    return tuple(stage for *_, stage in sorted(found, key=lambda part: part[:3]))
