"""QoS tables: maps, trust, PFC, queues with their schedulers, WRED and buffers. Source: SONiC doc/qos and YANG."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from policyhub.domain.device_config import Losslessness
from policyhub.domain.qos import (
    ClassMatch,
    DscpMap,
    Marker,
    Policer,
    QosAttachment,
    QosClass,
    QosMap,
    QosPolicy,
    Queue,
    Shaper,
    Trust,
    parse_dscp,
)
from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.sonic.database import Database, Row

MAPS = {
    "DOT1P_TO_TC_MAP": ("pcp-to-class", "dot1p_to_tc_map"), "TC_TO_QUEUE_MAP": ("class-to-queue", "tc_to_queue_map"),
    "TC_TO_PRIORITY_GROUP_MAP": ("class-to-priority-group", "tc_to_pg_map"),
    "MAP_PFC_PRIORITY_TO_QUEUE": ("pfc-priority-to-queue", "pfc_to_queue_map"),
    "PFC_PRIORITY_TO_QUEUE_MAP": ("pfc-priority-to-queue", "pfc_to_queue_map"),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": ("pfc-priority-to-priority-group", "pfc_to_pg_map"),
    "TC_TO_DSCP_MAP": ("class-to-dscp", "tc_to_dscp_map"), "TC_TO_DOT1P_MAP": ("class-to-pcp", "tc_to_dot1p_map"),
    "MPLS_TC_TO_TC_MAP": ("mpls-to-class", "mpls_tc_to_tc_map"), "DSCP_TO_FC_MAP": ("dscp-to-fc", "dscp_to_fc_map"),
    "EXP_TO_FC_MAP": ("exp-to-fc", "exp_to_fc_map"),
}  # fmt: skip
COLOURS = ("green", "yellow", "red")
MOST_QUEUES = 64
MOST_CLASSES = 50_000  # a key may list ports and queues; the largest switches have 512 ports with 8 queues
BITS = 8


@dataclass(frozen=True, slots=True)
class Qos:
    policies: tuple[QosPolicy, ...]
    dscp_maps: tuple[DscpMap, ...]
    maps: tuple[QosMap, ...]
    trusts: tuple[Trust, ...]
    losslessness: tuple[Losslessness, ...]


def read_qos(database: Database, ledger: LineLedger, by_number: Lines) -> Qos:
    users = _users(database)
    dscp_maps: list[DscpMap] = []
    for row in database.rows("DSCP_TO_TC_MAP"):
        entries = _entries(row, ledger, by_number, 63)
        dscp_maps.append(DscpMap(row.name, entries, users.get(("dscp_to_tc_map", row.name), ()), False, row.lines))
    maps: list[QosMap] = []
    for table, (kind, field) in MAPS.items():
        for row in database.rows(table):
            maps.append(QosMap(row.name, kind, _entries(row, ledger, by_number), users.get((field, row.name), ()), row.lines))
    policies = (*_queues(database, dscp_maps, maps), *_enterprise(database, ledger, by_number), *_control_plane(database))
    return Qos(policies, tuple(dscp_maps), tuple(maps), _trusts(database), _losslessness(database))


def _ports(row: Row) -> list[str]:
    """Keys may list ports: `Ethernet0,Ethernet4`; `global` is the switch."""
    return ["" if port == "global" else port for port in row.name.split(",")]


def _users(database: Database) -> dict[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], list[str]] = {}
    for row in database.rows("PORT_QOS_MAP"):
        for field, _ in row.node.pairs():
            found.setdefault((field, row.word(field)), []).extend(_ports(row))
    return {key: tuple(ports) for key, ports in found.items()}


def _entries(row: Row, ledger: LineLedger, by_number: Lines, most: int = 255) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for name, node in row.node.pairs():
        if _small(name, most) and _small(node.text, 255):
            found.append((int(name), int(node.text)))
        elif line := by_number.get(node.line):
            ledger.unparsed(line, "a pair of numbers is expected")
    return tuple(sorted(found))


def _small(text: str, most: int) -> bool:
    return is_decimal(text) and len(text) < 4 and int(text) <= most


def _trusts(database: Database) -> tuple[Trust, ...]:
    found: list[Trust] = []
    for row in database.rows("PORT_QOS_MAP"):
        mode = "dscp" if row.word("dscp_to_tc_map") else "pcp" if row.word("dot1p_to_tc_map") else None
        found += [Trust(port, mode, row.lines) for port in _ports(row)]
    return tuple(found)


def _losslessness(database: Database) -> tuple[Losslessness, ...]:
    watched = {port for row in database.rows("PFC_WD") for port in _ports(row) if row.name != "GLOBAL"}
    found: list[Losslessness] = []
    for row in database.rows("PORT_QOS_MAP"):
        text = row.word("pfc_enable")
        priorities = frozenset(int(part) for part in row.list("pfc_enable") if _small(part, 7))
        for port in _ports(row):
            if not port:
                continue
            is_watched = port in watched or bool(row.word("pfcwd_sw_enable"))
            watchdog = True if is_watched else False if watched else None
            found.append(Losslessness(port, bool(text), priorities, watchdog, row.lines))
    return tuple(found)


def _queues(database: Database, dscp_maps: list[DscpMap], maps: list[QosMap]) -> tuple[QosPolicy, ...]:
    schedulers = {row.name: row for row in database.rows("SCHEDULER")}
    wreds = {row.name: row for row in database.rows("WRED_PROFILE")}
    limits = _limits(database)
    marks = _marks(database, dscp_maps, maps)
    classes: dict[str, dict[int, QosClass]] = {}
    made_so_far = 0
    for row in database.rows("QUEUE"):
        *port_parts, numbers = row.key
        for port in "|".join(port_parts).split(","):
            for number in _spread(numbers):
                made_so_far += 1
                if made_so_far > MOST_CLASSES:
                    break
                limit = limits.get((port, number))
                known = classes.setdefault(port, {}).get(number)
                made = _class(row, number, schedulers, wreds, limit, marks.get(port, marks.get("")))
                classes[port][number] = made if known is None else _joined(known, made)
    found = []
    whole = _port_shapers(database, schedulers)
    for port in dict.fromkeys((*classes, *whole)):
        queues = classes.get(port, {})
        ordered = (*(queues[number] for number in sorted(queues)), *whole.get(port, ()))
        lines = tuple(sorted({line for made in ordered for line in made.lines}))
        found.append(QosPolicy(port, ordered, (QosAttachment(port, "out", lines[:1]),), lines))
    return tuple(found)


def _port_shapers(database: Database, schedulers: dict[str, Row]) -> dict[str, tuple[QosClass, ...]]:
    """`scheduler` of PORT_QOS_MAP bounds the whole port."""
    found: dict[str, tuple[QosClass, ...]] = {}
    for row in database.rows("PORT_QOS_MAP"):
        scheduler = schedulers.get(row.word("scheduler"))
        pir = _number(scheduler, "pir") if scheduler is not None and scheduler.word("meter_type") != "packets" else None
        if scheduler is None or not pir:
            continue
        shaper = Shaper(pir * BITS, _number(scheduler, "pbs"))
        made = QosClass("port", ClassMatch(any=True), shaper=shaper, lines=(*scheduler.lines, *row.lines))
        found.update({port: (made,) for port in _ports(row) if port})
    return found


def _control_plane(database: Database) -> tuple[QosPolicy, ...]:
    """COPP_GROUP with the traps of COPP_TRAP: what the processor takes of each kind of packet."""
    traps: dict[str, list[Row]] = {}
    for row in database.rows("COPP_TRAP"):
        traps.setdefault(row.word("trap_group"), []).append(row)
    classes: list[QosClass] = []
    for group in database.rows("COPP_GROUP"):
        cir = _number(group, "cir") if group.word("meter_type") == "bytes" else None
        exceed = group.word("red_action") or "drop"
        policer = Policer(cir * BITS if cir else None, _number(group, "cbs") if cir else None, exceed_action=exceed)
        other = tuple(f"trap_ids {trap.word('trap_ids')}" for trap in traps.get(group.name, ()))
        lines = (*group.lines, *(line for trap in traps.get(group.name, ()) for line in trap.lines))
        marker = Marker(queue=_number(group, "queue")) if group.word("queue") else None
        classes.append(QosClass(group.name, ClassMatch(other=other), marker, policer if group.word("cir") else None, lines=lines))
    if not classes:
        return ()
    every = tuple(sorted({line for made in classes for line in made.lines}))
    return (QosPolicy("copp", tuple(classes), (QosAttachment("", "local", every[:1]),), every),)


def _joined(first: QosClass, second: QosClass) -> QosClass:
    """Two rows of one queue (`Ethernet0|3` and `Ethernet0|3-4`): what the later one gives counts, the rest stays."""
    queue, more = first.queue or Queue(""), second.queue or Queue("")
    given = {field.name: getattr(more, field.name) for field in fields(Queue) if getattr(more, field.name) != field.default}
    return replace(
        first, queue=replace(queue, **given), shaper=second.shaper or first.shaper, lines=(*first.lines, *second.lines)
    )


def _spread(text: str) -> list[int]:
    low, dash, high = text.partition("-")
    if not is_decimal(low) or (dash and not is_decimal(high)) or len(low) > 3 or len(high) > 3:
        return []
    last = int(high) if dash else int(low)
    return list(range(int(low), min(last, int(low) + MOST_QUEUES) + 1))


def _class(
    row: Row,
    number: int,
    schedulers: dict[str, Row],
    wreds: dict[str, Row],
    limit: int | None,
    marks: dict[int, frozenset[int]] | None,
) -> QosClass:
    scheduler, wred = schedulers.get(row.word("scheduler")), wreds.get(row.word("wred_profile"))
    kind = scheduler.word("type").upper() if scheduler else ""
    in_bits = scheduler is not None and scheduler.word("meter_type") != "packets"
    pir = _number(scheduler, "pir") if in_bits else None
    cir = _number(scheduler, "cir") if in_bits else None
    strict = kind == "STRICT"
    colour = _colour(wred)
    early = row.word("wred_profile")
    probability = _number(wred, f"{colour}_drop_probability")
    queue = Queue(
        str(number), strict, cir * BITS if cir else None, ceiling_bps=pir * BITS if pir and strict else None, limit_bytes=limit,
        ecn=wred is not None and wred.word("ecn") not in ("", "ecn_none"),
        remaining_weight=None if strict else _number(scheduler, "weight"), early_drop=early,
        drop_min_bytes=_number(wred, f"{colour}_min_threshold"), drop_max_bytes=_number(wred, f"{colour}_max_threshold"),
        drop_max_percent=float(probability) if probability is not None else None,
    )  # fmt: skip
    shaper = Shaper(pir * BITS, _number(scheduler, "pbs")) if pir else None
    match = ClassMatch(dscp=marks.get(number) if marks else None, other=(f"queue {number}",))
    return QosClass(f"queue {number}", match, shaper=shaper, queue=queue, lines=row.lines)


def _number(row: Row | None, field: str) -> int | None:
    text = row.word(field) if row is not None else ""
    return int(text) if is_decimal(text) and len(text) < 16 else None


def _colour(wred: Row | None) -> str:
    """The colour whose thresholds are used: what is enabled, then what is given; green packets are the normal ones."""
    if wred is None:
        return "green"
    enabled = [
        colour for colour in COLOURS if wred.word(f"wred_{colour}_enable") == "true" and wred.word(f"{colour}_max_threshold")
    ]
    given = [colour for colour in COLOURS if wred.word(f"{colour}_max_threshold")]
    return (enabled or given or ["green"])[0]


def _limits(database: Database) -> dict[tuple[str, int], int]:
    """Queues with a static buffer: reserved size and the shared bytes they may take."""
    profiles: dict[str, int] = {}
    for row in database.rows("BUFFER_PROFILE"):
        static = _number(row, "static_th")
        if static is not None:
            profiles[row.name] = static + (_number(row, "size") or 0)
    found: dict[tuple[str, int], int] = {}
    for row in database.rows("BUFFER_QUEUE"):
        limit = profiles.get(row.word("profile"))
        if limit is None:
            continue
        *ports, numbers = row.key
        for port in "|".join(ports).split(","):
            for number in _spread(numbers) if len(found) < MOST_CLASSES else ():
                found[port, number] = limit
    return found


def _marks(database: Database, dscp_maps: list[DscpMap], maps: list[QosMap]) -> dict[str, dict[int, frozenset[int]]]:
    """Which code points reach each queue of a port, when every port of the switch classifies by one DSCP map."""
    used = {row.word("dscp_to_tc_map") for row in database.rows("PORT_QOS_MAP")} - {""}
    chosen = [known for known in dscp_maps if known.name in used]
    if len(used) != 1 or len(chosen) != 1:
        return {}
    queues = {known.name: dict(known.entries) for known in maps if known.kind == "class-to-queue"}
    found: dict[str, dict[int, frozenset[int]]] = {}
    users = _users(database)
    for name, entries in queues.items():
        reached: dict[int, set[int]] = {}
        for dscp, level in chosen[0].level:
            if level in entries:
                reached.setdefault(entries[level], set()).add(dscp)
        frozen = {number: frozenset(marks) for number, marks in reached.items()}
        found.update(dict.fromkeys(users.get(("tc_to_queue_map", name), ()), frozen))
        if len(queues) == 1:
            found.setdefault("", frozen)
    return found


def _enterprise(database: Database, ledger: LineLedger, by_number: Lines) -> tuple[QosPolicy, ...]:
    """POLICY_TABLE of type QOS with its sections: classifiers by fields, policers, marks (Enterprise SONiC)."""
    classifiers = {row.name: row for row in database.rows("CLASSIFIER_TABLE")}
    below: dict[str, list[Row]] = {}
    for row in database.rows("POLICY_SECTIONS_TABLE"):
        if len(row.key) > 1:
            below.setdefault(row.key[0], []).append(row)
    bound: dict[str, list[QosAttachment]] = {}
    for row in database.rows("POLICY_BINDING_TABLE"):
        for field, direction in (("INGRESS_QOS_POLICY", "in"), ("EGRESS_QOS_POLICY", "out")):
            bound.setdefault(row.word(field), []).append(QosAttachment(row.name, direction, row.lines))
    found: list[QosPolicy] = []
    for policy in database.rows("POLICY_TABLE"):
        sections = sorted(below.get(policy.name, []), key=lambda row: -(_number(row, "PRIORITY") or 0))
        classes = tuple(_section(row, classifiers.get(row.key[1])) for row in sections)
        found.append(QosPolicy(policy.name, classes, tuple(bound.get(policy.name, ())), policy.lines))
    return tuple(found)


def _section(row: Row, classifier: Row | None) -> QosClass:
    cir = _number(row, "SET_POLICER_CIR")
    policer = Policer(cir, _number(row, "SET_POLICER_CBS")) if cir is not None else None
    dscp, pcp, level = (_number(row, name) for name in ("SET_DSCP", "SET_PCP", "SET_TC"))
    marker = Marker(dscp, pcp, level) if (dscp, pcp, level) != (None, None, None) else None
    other: list[str] = []
    marks: frozenset[int] | None = None
    for name, node in classifier.node.pairs() if classifier is not None else ():
        if name == "DSCP":
            try:
                marks = frozenset({parse_dscp(node.text)})
            except ValueError:
                other.append(f"{name} {node.text}")
        elif name not in ("DESCRIPTION", "MATCH_TYPE") and node.text:
            other.append(f"{name} {node.text}")
    lines = (*row.lines, *(classifier.lines if classifier else ()))
    return QosClass(row.key[1], ClassMatch(dscp=marks, other=tuple(other)), marker, policer, lines=lines)
