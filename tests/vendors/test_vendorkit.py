"""What all parsers stand on: lines, blocks, the books, words, operands."""

from __future__ import annotations

import time

import pytest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.qos import QosMap
from policyhub.domain.services import Service
from policyhub.vendorkit.blocks import read_blocks, read_lines
from policyhub.vendorkit.expansion import LEAST_MEMBERS, LEAST_SPANS, expanding
from policyhub.vendorkit.ledger import IgnoreList, LineLedger, is_sensitive
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    TooScattered,
    Words,
    device_time,
    ipv4_number,
    masked_set,
    port_interval,
    rate_bps,
    wildcard_set,
)
from policyhub.vendorkit.mark_maps import MarkMaps
from policyhub.vendorkit.operands import address_table, as_source, compact, narrow


def test_line_numbers_are_those_of_an_editor() -> None:
    lines = read_lines("\ufeffa\r\n\r\n\tb \n")
    assert [(line.number, line.indent, line.text) for line in lines] == [(1, 0, "a"), (2, 0, ""), (3, 1, "b")]


@pytest.mark.parametrize(
    "text",
    [
        "<--- More --->\r rule",
        " --More-- \x08\x08\x08\x08\x08\x08\x08\x08\x08        \x08\x08\x08\x08\x08\x08\x08\x08\x08 rule",
        "  ---- More ----\x1b[42D                                          \x1b[42D rule",
        "---- More (42%) ---- rule",
    ],
)
def test_pager_remnants_are_taken_off(text: str) -> None:
    assert [line.text for line in read_lines(text)] == ["rule"]


def test_a_remark_about_more_is_not_a_pager() -> None:
    assert read_lines("remark -- more about this --")[0].text == "remark -- more about this --"


def test_deeper_lines_belong_to_the_line_above() -> None:
    blocks = read_blocks(read_lines("a\n b\n  c\n d\n! e\ne\n"))
    assert [(block.text, [child.text for child in block.children]) for block in blocks] == [("a", ["b", "d"]), ("e", [])]
    assert blocks[0].numbers == (1, 2, 3, 4)


def test_a_parent_may_adopt_lines_that_lost_their_indentation() -> None:
    blocks = read_blocks(read_lines("list\nx 1\nx 2\nother\n"), adopts=lambda parent, child: parent == "list" and child[0] == "x")
    assert [len(block.children) for block in blocks] == [2, 0]


@pytest.mark.parametrize(
    "word", ["permit", "DENY", "ip access-group X", "vacl", "dnat", "qos", "mls qos", "queue-limit", "pfc on"]
)
def test_a_sensitive_line_is_never_ignored(word: str) -> None:
    assert is_sensitive(word)
    assert not IgnoreList.read(".*").takes(word)


HIDING = ("\x00", "\x07", "\x1f", "\x7f", "\u00ad", "\u200b", "\u200d", "\u2060", "\u202e", "\ufeff", "\u0301")


@pytest.mark.parametrize("hidden", HIDING, ids=ascii)
def test_what_is_not_seen_hides_no_sensitive_word(hidden: str) -> None:
    for word in ("permit", "access-group", "dscp"):
        assert is_sensitive(f"x {word[:3]}{hidden}{word[3:]} y"), word
        assert not IgnoreList.read(".*").takes(f"x {word[:2]}{hidden}{word[2:]}")


@pytest.mark.parametrize("word", ["ｐｅｒｍｉｔ", "ａｃｌ", "access-ｇroup", "pólicy", "ＱＯＳ"])
def test_full_width_letters_and_letters_with_marks_are_letters(word: str) -> None:
    assert is_sensitive(word)


def test_a_tab_parts_words_and_chinese_comments_stay_plain() -> None:
    assert is_sensitive("no\tpermit")
    assert not is_sensitive("perm\tit")
    assert not is_sensitive("description 核心交换机，机房 A")


@pytest.mark.parametrize("text", ["destination 10.0.0.1", "hostname core", "logging host 10.0.0.9"])
def test_a_word_inside_a_word_is_not_sensitive(text: str) -> None:
    assert IgnoreList.read("(destination|hostname|logging)").takes(text)


def test_ignored_block_takes_its_children_except_sensitive_ones() -> None:
    ledger = LineLedger()
    blocks = read_blocks(read_lines("router bgp 1\n neighbor x\n match policy y\nunknown\n"))
    ledger.settle(blocks, IgnoreList.read("block: router"))
    assert ledger.ignored_lines == (1, 2)
    assert [(u.line, u.reason) for u in ledger.unparsed_lines] == [(3, "not understood"), (4, "not understood")]


def test_unparsed_wins_over_understood_and_keeps_its_first_reason() -> None:
    ledger = LineLedger()
    line = read_lines("x")[0]
    ledger.understood(1)
    ledger.unparsed(line, "first")
    ledger.unparsed(line, "second")
    assert [u.reason for u in ledger.unparsed_lines] == ["first"]


def test_words_say_what_is_missing_and_what_is_left() -> None:
    words = Words(["a", "b"])
    words.next()
    with pytest.raises(NotUnderstood, match="'b' is not understood here"):
        words.end()
    assert words.rest() == "b"
    with pytest.raises(NotUnderstood, match="the line ends where a port is expected"):
        words.next("a port")


@pytest.mark.parametrize("text", ["1.2.3", "1.2.3.256", "1.2.3.²", "1.2.3.4.5", "a.b.c.d", "1..2.3", "0001.2.3.4"])
def test_what_is_no_address_is_none(text: str) -> None:
    assert ipv4_number(text) is None


def test_masks_and_wildcards_agree() -> None:
    assert masked_set("10.1.2.3", "255.255.0.0") == wildcard_set("10.1.2.3", "0.0.255.255") == AddressSet.of("10.1.0.0/16")
    assert wildcard_set("10.0.0.1", "0.0.2.0") == AddressSet.of("10.0.0.1", "10.0.2.1")


def test_masks_with_holes_expand_to_a_part_of_the_text_and_each_once() -> None:
    @expanding
    def read(_: str) -> None:
        for number in range(LEAST_SPANS // 1024):
            assert wildcard_set(f"10.0.0.{number}", "170.170.10.0") is wildcard_set(f"10.0.0.{number}", "170.170.10.0")
        with pytest.raises(TooScattered):
            wildcard_set("10.1.0.0", "170.170.10.0")

    read("a short text")
    read("the next one begins anew")


def test_resolved_names_are_a_part_of_the_text() -> None:
    @expanding
    def resolved(_: str) -> int:
        table = address_table()
        for number in range(1000):
            table.add("all", AddressSet.of(f"10.{number // 250}.{number % 250}.0"))
        for number in range(1000):
            table.refer(f"group {number}", "all")
            table.add(f"group {number}", AddressSet.of("192.0.2.1"))
        return sum(not table.resolve(f"group {number}").unresolved for number in range(1000))

    assert resolved("a short text") == LEAST_MEMBERS // 1001 - 1
    assert resolved("x" * 2_000_000) == 1000


@pytest.mark.parametrize(
    ("operator", "ports", "expected"),
    [
        ("eq", [80, 81, 443], ((80, 81), (443, 443))),
        ("neq", [80], ((0, 79), (81, 65535))),
        ("lt", [1024], ((0, 1023),)),
        ("gt", [1023], ((1024, 65535),)),
        ("range", [20, 10], ((10, 20),)),
        ("lt", [0], ()),
        ("gt", [65535], ()),
    ],
)
def test_port_operators(operator: str, ports: list[int], expected: tuple[tuple[int, int], ...]) -> None:
    assert port_interval(operator, ports) == expected


def test_rates_with_units() -> None:
    assert [rate_bps("64000"), rate_bps("10m"), rate_bps("1.5", "mbps"), rate_bps("8", "", 1000), rate_bps("fast")] == [
        64000,
        10**7,
        1_500_000,
        8000,
        None,
    ]


def test_device_time_in_either_order() -> None:
    assert device_time(["18:30", "31", "March", "2026"]) == device_time(["18:30", "March", "31", "2026"]) == "2026-03-31T18:30"
    assert device_time(["31", "February", "2026", "10:00"]) is None


def test_nested_names_resolve_once_and_cycles_end() -> None:
    table = address_table()
    table.add("a", AddressSet.of("10.0.0.1"))
    table.refer("b", "a")
    table.refer("b", "c")
    table.refer("c", "b")
    table.add("c", AddressSet.of("10.0.0.2"))
    assert table.resolve("b").value == AddressSet.of("10.0.0.1", "10.0.0.2")
    assert table.resolve("b").unresolved == ()


def test_a_missing_member_is_unresolved_by_its_name() -> None:
    table = address_table()
    table.refer("outer", "inner")
    table.refer("inner", "gone")
    table.add("outer", AddressSet.of("10.0.0.1"))
    assert table.resolve("outer").unresolved == ("gone",)


def test_a_deep_chain_of_groups_needs_no_recursion() -> None:
    table = address_table()
    table.add("g0", AddressSet.of("10.0.0.1"))
    for n in range(1, 5000):
        table.refer(f"g{n}", f"g{n - 1}")
    assert table.resolve("g4999").value == AddressSet.of("10.0.0.1")


def test_services_are_merged_narrowed_and_turned_round() -> None:
    web = (Service.of(6, ((80, 80),)), Service.of(6, ((443, 443),)))
    assert compact(web) == (Service.of(6, ((80, 80), (443, 443))),)
    assert narrow((Service.of(6),), (Service.of(17, ((53, 53),)),)) == ()
    assert narrow((Service.of(6), Service.of(17)), (Service(destination_ports=((53, 53),)),)) == (
        Service.of(6, ((53, 53),)),
        Service.of(17, ((53, 53),)),
    )
    assert as_source(web[:1]) == (Service.of(6, source=((80, 80),)),)


def test_lines_of_one_map_add_up_and_a_map_of_its_own_stays_apart() -> None:
    maps = MarkMaps()
    maps.add(QosMap("m", "pcp-to-dscp", ((1, 8),), ("eth0",), (1,)))
    maps.begin(QosMap("m", "pcp-to-dscp", ((7, 56),), (), (2,)))
    maps.add(QosMap("m", "dscp-to-pcp", ((8, 1),), (), (3,)))
    maps.add(QosMap("m", "pcp-to-dscp", ((2, 16),), (), (4,)), most=1)
    with pytest.raises(NotUnderstood):
        maps.add(QosMap("m", "pcp-to-dscp", ((3, 24),), (), (5,)), most=1)
    assert list(maps) == [
        QosMap("m", "pcp-to-dscp", ((1, 8), (2, 16)), ("eth0",), (1, 4)),
        QosMap("m", "pcp-to-dscp", ((7, 56),), (), (2,)),
        QosMap("m", "dscp-to-pcp", ((8, 1),), (), (3,)),
    ]


def test_many_maps_cost_what_their_lines_cost() -> None:
    maps, began = MarkMaps(), time.process_time()
    for number in range(10_000):
        maps.add(QosMap(f"m{number}", "dscp-to-dscp", ((1, 2),), (), (number,)))
        maps.add(QosMap("one", "dscp-to-dscp", ((1, 2),), (), (number,)))
    assert len(list(maps)) == 10_001
    assert time.process_time() - began < 2
