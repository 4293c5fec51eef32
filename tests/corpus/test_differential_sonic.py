"""SONiC's own test vectors: what its tools make of a file (sonic-utilities, sonic-mgmt) against what we make of it."""

from __future__ import annotations

import json
import re

import pytest

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.registry import REGISTRY
from tests.corpus.peers import CORPUS, Said, compared, corpus_file, differences, settle

pytestmark = pytest.mark.corpus
SONIC = REGISTRY.get("sonic")
ACL_LOADER = "sonic-utilities acl-loader"
SHOWN = ("su__aclshow_test__default_output.txt", "su__aclshow_test__out2.txt")
# What tests/acl_loader_test.py of sonic-utilities expects of each file: it is refused, or this rule of it is not loaded.
REFUSED_RULES = (
    "illegal_vlan_0",
    "illegal_vlan_nan",
    "illegal_icmp_type_neg_1",
    "illegal_icmp_type_nan",
    "illegal_icmp_code_300",
    "illegal_icmp_code_nan",
    "icmpv6_bad_protocol_number",
    "tcp_bad_protocol_number",
    "acl2",
)


def read(name: str) -> DeviceConfig:
    return SONIC.parse(corpus_file(f"sonic/{name}"))


def has_doubt(config: DeviceConfig) -> bool:
    """Whether we say that something of the file does not hold: a rule that is off, or a line that is not understood."""
    return bool(config.unparsed) or any(not rule.enabled for policy in config.policies for rule in policy.rules)


def test_what_acl_loader_refuses_is_in_doubt_with_us() -> None:
    found = {}
    for name in REFUSED_RULES:
        if not has_doubt(read(f"su__acl_input__{name}.json")):
            found[name, "-", "refused"] = "read without a doubt"
    settle(ACL_LOADER, found, REFUSED_RULES)


def test_rules_that_acl_loader_loads() -> None:
    """test_incremental_update: RULE_1 of NTP_ACL is ACCEPT."""
    (policy,) = [known for known in read("su__acl_input__incremental_1.json").policies if known.name == "NTP_ACL"]
    assert [(rule.name, rule.action.value, rule.enabled) for rule in policy.rules][:1] == [("RULE_1", "permit", True)]


def test_orchagent_vectors_are_valid_where_their_names_say_so() -> None:
    """sonic-mgmt names the rules of its orchagent tests `..._valid_N` and `..._invalid_N`."""
    found = {}
    files = [path.name for path in sorted((CORPUS / "sonic").glob("sm__acl_*__*.json"))]
    seen = 0
    for name in files:
        config = read(name)
        doubtful = {unparsed.line for unparsed in config.unparsed}
        for policy in config.policies:
            for rule in policy.rules:
                verdict = re.search(r"_(in)?valid_\d+$", rule.name)
                if verdict is None:
                    continue
                seen += 1
                stands = rule.enabled and not doubtful & set(range(rule.lines[0], rule.lines[-1] + 1))
                if stands != (verdict[1] is None):
                    found[name, rule.name, "stands"] = f"{stands} / {not stands}"
    settle("sonic-mgmt orchagent", found, files)
    assert seen >= 20, seen


def database_counters() -> Said:
    """Counters of rules in the database that aclshow read for its outputs; None where the rule's counter is not there."""
    database = json.loads(corpus_file("sonic/su__mock_tables__counters_db.json"))
    said: Said = {}
    for rule, oid in database["ACL_COUNTER_RULE_MAP"].items():
        known = database.get(f"COUNTERS:{oid}", {})
        packets, octets = known.get("SAI_ACL_COUNTER_ATTR_PACKETS"), known.get("SAI_ACL_COUNTER_ATTR_BYTES")
        said[rule] = {"packets": packets and int(packets), "bytes": octets and int(octets)}
    return said


@pytest.mark.parametrize("name", SHOWN)
def test_aclshow_shows_what_the_database_holds(name: str) -> None:
    sample = SONIC.counters(corpus_file(f"sonic/{name}"), None)
    assert sample is not None
    ours: Said = {f"{hit.policy}:{hit.key}": {"packets": hit.hits, "bytes": hit.bytes} for hit in sample.hits}
    theirs = {rule: row for rule, row in database_counters().items() if rule in ours}
    assert differences(ours, theirs) == {}
    assert compared(ours, theirs) >= 4


def test_queue_counters_as_text_are_those_that_sonic_prints_as_json() -> None:
    titles = {"totalpacket": "Counter/pkts", "totalbytes": "Counter/bytes", "droppacket": "Drop/pkts", "dropbytes": "Drop/bytes"}
    printed = json.loads(corpus_file("sonic/su__queue_counter_test__show_queue_counters_json_nz.txt"))
    theirs: Said = {
        f"{port} {queue}": {title: number(counts[key]) for key, title in titles.items()}
        for port, queues in printed.items()
        for queue, counts in queues.items()
        if isinstance(counts, dict)
    }
    ours: Said = {}
    assert SONIC.series is not None
    for one in SONIC.series(corpus_file("sonic/su__queue_counter_test__show_queue_counters_nz.txt"), None).rows:
        ours.setdefault(f"{one.interface} {one.queue}", {})[one.name] = one.value
    shown = {item: row for item, row in theirs.items() if any(value for value in row.values())}
    assert shown
    assert {item: ours.get(item) for item in shown} == shown


def number(text: str) -> float | None:
    return None if text == "N/A" else float(text.replace(",", ""))
