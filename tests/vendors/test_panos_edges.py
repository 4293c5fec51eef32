"""PAN-OS: what golden cases cannot say: broken XML, edits, several documents, Panorama's counters, traffic logs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.rules import Action
from policyhub.vendors.paloalto_panos import VENDOR

RULE = (
    '<entry name="{name}">\n<from><member>any</member></from><to><member>any</member></to>\n'
    "<source><member>{source}</member></source><destination><member>any</member></destination>\n"
    "<application><member>any</member></application><service><member>any</member></service>\n"
    "<action>allow</action>\n</entry>\n"
)
HEAD = '<config version="10.2.0" urldb="x"><devices><entry name="d"><vsys><entry name="vsys1">\n<rulebase><security><rules>\n'
TAIL = "</rules></security></rulebase></entry></vsys></entry></devices></config>\n"


def rule(name: str, source: str = "any") -> str:
    return RULE.format(name=name, source=source)


def names(text: str) -> list[str]:
    return [found.name for policy in VENDOR.parse(text).policies for found in policy.rules]


def test_truncated_xml_keeps_what_stood_before_the_break() -> None:
    text = HEAD + rule("one") + rule("two") + '<entry name="thr'
    config = VENDOR.parse(text)
    assert [found.name for found in config.policies[0].rules] == ["one", "two"]
    assert [unparsed.line for unparsed in config.unparsed] == [text.count("\n") + 1]
    assert config.unparsed[0].reason == "the text ends inside of 'rules'"


def test_every_line_behind_a_break_is_unparsed() -> None:
    text = HEAD + rule("one") + "<<<\n" + rule("two") + TAIL
    config = VENDOR.parse(text)
    assert names(text) == ["one"]
    broken = (HEAD + rule("one")).count("\n") + 1
    assert [unparsed.line for unparsed in config.unparsed] == list(range(broken, text.count("\n") + 1))


@pytest.mark.parametrize(
    "evil",
    [
        '<!DOCTYPE config [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n',
        '<!DOCTYPE config SYSTEM "file:///etc/passwd">\n',
    ],
)
def test_a_document_type_ends_the_reading(evil: str) -> None:
    config = VENDOR.parse('<?xml version="1.0"?>\n' + evil + HEAD + rule("one") + TAIL)
    assert config.rule_count == 0
    assert (config.unparsed[0].line, config.unparsed[0].text) == (2, evil.strip())
    assert "breaks here" in config.unparsed[0].reason


def test_an_entity_is_never_expanded() -> None:
    config = VENDOR.parse(HEAD + rule("one") + rule("&secret;") + TAIL)
    assert [found.name for found in config.policies[0].rules][:1] == ["one"]
    assert any("entity" in unparsed.reason for unparsed in config.unparsed)


def test_text_between_elements_is_unparsed() -> None:
    text = HEAD + rule("one").replace("<action>", "permit everything\n<action>") + TAIL
    assert [unparsed.text for unparsed in VENDOR.parse(text).unparsed] == ["permit everything"]


def test_two_documents_in_one_text_are_both_read() -> None:
    document = '<?xml version="1.0"?>\n' + HEAD
    assert names(document + rule("one") + TAIL + document + rule("two") + TAIL) == ["one", "two"]


def test_rules_of_one_name_stay_two() -> None:
    config = VENDOR.parse(HEAD + rule("one", "10.0.0.1") + rule("one", "10.0.0.2") + TAIL)
    assert [str(found.match.source) for found in config.policies[0].rules] == ["10.0.0.1/32", "10.0.0.2/32"]


def test_one_line_of_xml_is_judged_by_its_elements() -> None:
    text = (HEAD + rule("one") + TAIL).replace("\n", "")
    config = VENDOR.parse(text)
    assert config.rule_count == 1
    assert not config.unparsed
    odd = VENDOR.parse(text.replace("</rulebase>", "</rulebase><access-things/>"))
    assert [unparsed.line for unparsed in odd.unparsed] == [1]


def test_several_fields_on_one_set_line() -> None:
    source = "source [ 10.0.0.1 10.0.0.2 ] destination any"
    text = f"set rulebase security rules r from a to b {source} application any service any action deny"
    (policy, _) = VENDOR.parse(text).policies
    (found,) = policy.rules
    assert found.action is Action.DENY
    assert (found.match.source_zones, found.match.destination_zones) == (("a",), ("b",))
    assert found.match.source == AddressSet.of("10.0.0.1", "10.0.0.2")
    assert found.match.is_exact


def test_edits_are_carried_out() -> None:
    text = "\n".join(
        [
            "set rulebase security rules a description x",
            "set rulebase security rules b description x",
            "set rulebase security rules c description x",
            "move rulebase security rules c before a",
            "rename rulebase security rules b to d",
            "delete rulebase security rules a",
            "delete rulebase security rules nobody",
        ]
    )
    assert names(text) == ["c", "d"]
    assert [unparsed.line for unparsed in VENDOR.parse(text).unparsed] == [7]


def test_a_quoted_text_of_several_lines_is_one_value() -> None:
    text = 'set rulebase security rules a description "first\nsecond permit"\nset rulebase security rules a action deny\n'
    config = VENDOR.parse(text)
    (found,) = config.policies[0].rules
    assert found.comment == "first\nsecond permit"
    assert found.lines == (1, 2, 3)
    assert not config.unparsed


def test_device_groups_in_a_circle_end() -> None:
    circle = "set device-group A parent-dg B\nset device-group B parent-dg A\n"
    config = VENDOR.parse(circle + "set device-group A pre-rulebase security rules r source X\n")
    assert config.rule_count == 1
    assert "X" in config.policies[0].rules[0].match.unresolved


def test_a_group_that_holds_itself_ends() -> None:
    text = "set address-group g static [ g h ]\nset address h ip-netmask 10.0.0.1\nset rulebase security rules r source g\n"
    (found,) = VENDOR.parse(text).policies[0].rules
    assert str(found.match.source) == "10.0.0.1/32"


def test_an_object_of_a_child_group_goes_before_its_parents() -> None:
    text = "\n".join(
        [
            "set shared address h ip-netmask 10.0.0.1",
            "set device-group P address h ip-netmask 10.0.0.2",
            "set device-group C parent-dg P",
            "set device-group D parent-dg C",
            "set device-group D address h ip-netmask 10.0.0.3",
            *(f"set device-group {name} pre-rulebase security rules r source h" for name in "PCD"),
            "set shared pre-rulebase security rules r source h",
        ]
    )
    found = {policy.name: str(policy.rules[0].match.source) for policy in VENDOR.parse(text).policies if policy.rules}
    assert found == {
        "shared/pre-security": "10.0.0.1/32",
        "P/pre-security": "10.0.0.2/32",
        "C/pre-security": "10.0.0.2/32",
        "D/pre-security": "10.0.0.3/32",
    }
    stages = {stage.context: stage.policies for stage in VENDOR.parse(text).evaluation}
    assert stages["D"] == (
        "shared/pre-security",
        "P/pre-security",
        "C/pre-security",
        "D/pre-security",
        "shared/default-security",
    )


def hits_of(rule_text: str, place: str = "device-group", entry: str = "DG1") -> str:
    return (
        f'<response status="success"><result><rule-hit-count><{place}><entry name="{entry}"><rule-base><entry name="security">'
        f"<rules>{rule_text}</rules></entry></rule-base></entry></{place}></rule-hit-count></result></response>"
    )


def device(serial: int, hits: str, last: int = 0, latest: str = "yes") -> str:
    return (
        f'<entry name="DG1/{serial}/vsys1"><hit-count>{hits}</hit-count><last-hit-timestamp>{last}</last-hit-timestamp>'
        f"<latest>{latest}</latest></entry>"
    )


def test_panorama_adds_the_hits_of_all_firewalls() -> None:
    text = hits_of(f'<entry name="r"><device-vsys>{device(1, "3", 100)}{device(2, "4", 200)}</device-vsys></entry>')
    sample = VENDOR.counters(text, None)
    assert sample is not None
    assert {(hit.policy, hit.key, hit.hits) for hit in sample.hits} == {
        ("DG1/pre-security", "r", 7),
        ("DG1/post-security", "r", 7),
    }
    assert sample.hits[0].last_hit_at == datetime.fromtimestamp(200, UTC)


@pytest.mark.parametrize(
    ("devices", "hits"),
    [
        (device(1, "0") + device(2, "0"), 0),
        (device(1, "0") + device(2, ""), None),
        (device(1, "0") + device(2, "0", latest="no"), None),
        (device(1, "5") + device(2, ""), 5),
        (device(1, ""), None),
    ],
)
def test_a_firewall_that_did_not_answer_makes_zero_unknown(devices: str, hits: int | None) -> None:
    sample = VENDOR.counters(hits_of(f'<entry name="r"><device-vsys>{devices}</device-vsys></entry>'), None)
    assert sample is not None
    assert sample.hits[0].hits == hits


@pytest.mark.parametrize(
    ("state", "connected", "hits"),
    [("Unused", "yes", 0), ("Unused", "no", None), ("Used", "no", 1), ("Partially Used", "yes", 1), ("Odd", "yes", None)],
)
def test_a_state_without_numbers(state: str, connected: str, hits: int | None) -> None:
    text = f'<entry name="r"><rule-state>{state}</rule-state><all-connected>{connected}</all-connected></entry>'
    sample = VENDOR.counters(hits_of(text), None)
    assert sample is not None
    assert sample.hits[0].hits == hits


def counted(name: str, hits: int, reset: int, created: int) -> str:
    return (
        f'<entry name="{name}"><hit-count>{hits}</hit-count><last-reset-timestamp>{reset}</last-reset-timestamp>'
        f"<rule-creation-timestamp>{created}</rule-creation-timestamp></entry>"
    )


@pytest.mark.parametrize(
    ("rules", "since"),
    [
        (counted("a", 0, 500, 100) + counted("b", 0, 0, 700) + counted("c", 9, 0, 900), 700),
        (counted("a", 0, 0, 0) + counted("b", 0, 0, 700), None),
        (counted("a", 3, 500, 600), None),
    ],
)
def test_counting_began_at_the_latest_reset_or_creation_of_a_rule_at_zero(rules: str, since: int | None) -> None:
    sample = VENDOR.counters(hits_of(rules, "vsys", "vsys1"), None)
    assert sample is not None
    assert sample.counting_since == (None if since is None else datetime.fromtimestamp(since, UTC))


def test_counters_of_another_vsys_carry_its_name() -> None:
    sample = VENDOR.counters(hits_of(counted("a", 1, 0, 0), "vsys", "vsys2"), None)
    assert sample is not None
    assert sample.hits[0].policy == "vsys2/security"


def log(subtype: str, name: str, at: str, vsys: str = "vsys1", repeat: int = 1, exact: str = "") -> str:
    fields = ["1", at, "001", "TRAFFIC", subtype, "2305", at, "10.0.0.1", "10.0.0.2", "0.0.0.0", "0.0.0.0", name]
    fields += ["", "", "ssl", vsys, "trust", "untrust", "ethernet1/1", "ethernet1/2", "fwd", at, "77", str(repeat)]
    fields += ["40000", "443", "0", "0", "0x19", "tcp", "allow", "100", "50", "50", "2", at, "0", "any", "", "1", "0x0"]
    fields += ["10.0.0.0", "10.0.0.0", "", "1", "1", "aged-out", "0", "0", "0", "0", "", "fw-1", "from-policy", exact]
    return ",".join(f'"{field}"' if "," in field else field for field in fields)


def test_traffic_logs_tell_which_rules_are_used() -> None:
    text = "\n".join(
        [
            "<14>Nov 30 06:30:00 fw-1 " + log("start", "web, out", "2026/11/30 06:30:00"),
            log("end", "web, out", "2026/11/30 06:31:00"),
            log("end", "web, out", "2026/11/30 06:29:00", repeat=3),
            log("deny", "stop", "2026/11/30 06:40:00", vsys="vsys2"),
            "Nov 30 06:31:10 fw-1 something else",
            log("end", "", "2026/11/30 06:31:00"),
        ]
    )
    first, second = VENDOR.rule_uses(text) if VENDOR.rule_uses else ()
    assert (first.policy, first.key, first.sessions, first.hostname) == ("security", "web, out", 4, "fw-1")
    assert first.first_at == datetime(2026, 11, 30, 6, 29, tzinfo=UTC)
    assert first.last_at == datetime(2026, 11, 30, 6, 31, tzinfo=UTC)
    assert (second.policy, second.key, second.sessions) == ("vsys2/security", "stop", 1)


def test_a_high_resolution_time_has_its_zone() -> None:
    text = log("end", "r", "2026/11/30 06:31:00", exact="2026-11-30T06:31:00.123+08:00")
    (use,) = VENDOR.rule_uses(text) if VENDOR.rule_uses else ()
    assert use.last_at == datetime(2026, 11, 29, 22, 31, 0, 123_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("move", "order", "is_done"),
    [
        ("c top", "cab", True),
        ("a bottom", "bca", True),
        ("a after b", "bac", True),
        ("c before b", "acb", True),
        ("a top b", "abc", False),
        ("a before a", "abc", False),
        ("a after nobody", "abc", False),
        ("nobody top", "abc", False),
    ],
)
def test_rules_move_and_a_refused_move_changes_nothing(move: str, order: str, is_done: bool) -> None:
    lines = "".join(f"set rulebase security rules {name} action allow\n" for name in "abc")
    config = VENDOR.parse(f"{lines}move rulebase security rules {move}\n")
    assert [rule.name for rule in config.policies[0].rules] == list(order)
    assert [line.line for line in config.unparsed] == ([] if is_done else [4])


def test_default_rules_that_only_log_keep_their_action() -> None:
    head = "set rulebase default-security-rules rules"
    config = VENDOR.parse(f"{head} intrazone-default log-end yes\n{head} interzone-default log-end yes\n")
    assert [(rule.name, rule.action, rule.logged) for rule in config.policies[0].rules] == [
        ("intrazone-default", Action.PERMIT, True),
        ("interzone-default", Action.DENY, True),
    ]


def test_fields_of_an_address_follow_each_other_wherever_it_stands() -> None:
    config = VENDOR.parse(
        "set shared address x ip-netmask 10.0.0.5 description y\nset address z ip-netmask 10.0.0.6 description y\n"
        "set device-group D address q ip-netmask 10.0.0.7 tag t\nset template T config shared address t ip-netmask 10.0.0.8\n"
        "set template T config odd 1\nset device-group D description x\nset device-group D odd 1\n"
    )
    assert sorted((one.context, one.name, str(one.addresses)) for one in config.addresses) == [
        ("", "z", "10.0.0.6/32"),
        ("D", "q", "10.0.0.7/32"),
        ("shared", "x", "10.0.0.5/32"),
        ("template:T", "t", "10.0.0.8/32"),
    ]
    assert [line.line for line in config.unparsed] == [5, 7]


WHOLE = """<config version="10.1.0"><devices><entry name="localhost"><vsys><entry name="vsys1"><rulebase><security><rules>
<entry name="web">
<from><member>a</member></from><to><member>b</member></to><source><member>any</member></source>
<destination><member>any</member></destination><service><member>any</member></service>
<application><member>any</member></application><action>allow</action>
</entry>
</rules></security></rulebase></entry></vsys></entry></devices></config>
"""


def test_a_text_that_was_cut_names_the_line_and_what_was_open() -> None:
    assert not VENDOR.parse(WHOLE).unparsed
    for end in range(WHOLE.index('<entry name="web">') + 18, len(WHOLE) - len("</config>\n")):
        (cut,) = (line for line in VENDOR.parse(WHOLE[:end]).unparsed if line.is_cut)
        assert cut.line == len(WHOLE[:end].rstrip().split("\n")) and cut.reason.count("'") == 2, (end, cut)
    web = VENDOR.parse(WHOLE[: WHOLE.index("</entry>")]).unparsed[-1]
    assert (web.line, web.reason) == (5, "the text ends inside of 'web'")
    broken = VENDOR.parse(WHOLE.replace("</from>", "</form>")).unparsed
    assert not any(line.is_cut for line in broken) and "breaks here" in broken[0].reason
