"""What a mirror lost is known from counters, and nothing is claimed above the limit."""

from __future__ import annotations

from typing import Any

import pytest

from flowguard.domain.mirror import by_sequence, compare, read_counters, withhold
from policyhub.domain.errors import BadInput

CSV = "time,packets,bytes\n100,1000,64000\n160,2000,132000\n220,10,600\n280,1010,68600\n"
S = 10**9


def inspected(*mirrored: int, missing: int | None = None, erspan: int = 0) -> dict[str, Any]:
    cuts = [100 * S, 160 * S, 220 * S, 280 * S]
    rows = [
        {"start_ns": start, "end_ns": end, "packets": packets, "bytes": packets * 64}
        for start, end, packets in zip(cuts, cuts[1:], mirrored, strict=False)
    ]
    return {"name": "core", "frames": sum(mirrored), "intervals": rows, "mirrors": {"missing": missing, "frames": erspan}}


def test_counters_tell_the_mirrors_loss_and_a_reset_interval_is_left_out():
    truth = compare(inspected(990, 7, 1000), read_counters(CSV, "c.csv"))
    assert (truth.basis, truth.packets, truth.mirrored, truth.resets) == ("counters", 2000, 1990, 1)
    assert truth.loss_share == pytest.approx(0.005)
    assert [row.lost for row in truth.intervals] == [10, 0]
    assert (truth.is_trusted(0.001), truth.is_trusted(0.01)) == (False, True)


def test_times_are_read_in_every_form_and_json_as_well():
    iso = read_counters("time,packets\n2026-11-30T00:00:00Z,1\n2026-11-30T00:01:00+00:00,2\n", "c.csv")
    json = read_counters(
        '[{"time": 1796004000000000000, "packets": 1}, {"time": 1796004060.5, "packets": 2, "bytes": 9}]', "c.json"
    )
    assert iso[1].time_ns - iso[0].time_ns == 60 * S and iso[0].octets is None
    assert json[1].time_ns == 1796004060_500000000 and json[1].octets == 9


def test_a_whole_number_of_eighteen_digits_is_nanoseconds_and_a_shorter_one_seconds():
    first, second = read_counters(f'[{{"time": 1000, "packets": 1}}, {{"time": {10**17}, "packets": 2}}]', "c.json")
    assert (first.time_ns, second.time_ns) == (1000 * S, 10**17)


def test_a_port_may_begin_at_zero():
    first, _ = read_counters("time,packets,bytes\n0,0,0\n60,1,64\n", "c.csv")
    assert (first.time_ns, first.packets, first.octets) == (0, 0, 0)


def test_octets_are_compared_as_the_device_counts_them_with_the_check_sum():
    truth = compare(inspected(990, 7, 1010), read_counters(CSV, "c.csv"))
    first, last = truth.intervals
    assert (first.octets, first.mirrored_octets) == (68_000, 990 * 68)
    assert (last.octets, last.lost) == (68_000, -10)
    assert [row["octets"] for row in truth.as_json(0.001)["intervals"]] == [68_000, 68_000]


@pytest.mark.parametrize("sizes", [("9", "8"), ("", "8"), ("9", "")])
def test_octets_that_fell_or_were_not_read_are_unknown(sizes):
    before, after = sizes
    truth = compare(inspected(10), read_counters(f"time,packets,bytes\n100,0,{before}\n160,10,{after}\n", "c.csv"))
    assert (truth.intervals[0].octets, truth.intervals[0].packets) == (None, 10)


def test_a_mirror_that_copied_more_than_there_was_lost_nothing():
    truth = compare(inspected(3), read_counters("time,packets\n100,0\n160,2\n", "c.csv"))
    assert (truth.loss_share, truth.intervals[0].lost, truth.is_trusted(0)) == (0, -1, True)


def test_a_port_that_stood_still_says_nothing_of_its_mirror():
    truth = compare(inspected(0, missing=1, erspan=3), read_counters("time,packets\n100,5\n160,5\n", "c.csv"))
    assert (truth.basis, truth.packets, truth.loss_share) == ("erspan", 4, 0.25)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time,packets\n1,-1\n2,3\n", "c.csv:2.*below zero"),
        ("time,packets,bytes\n1,1,-1\n2,3,4\n", "c.csv:2.*below zero"),
        ("time,packets\n-1,1\n2,3\n", "c.csv:2.*below zero"),
        ("time,packets\n1,1\n1,3\n", "do not rise"),
        ("time,bytes\n1,2\n", "packets"),
        ("time,packets\n1,2\n", "1 readings"),
        ("time,packets\n2,2\n1,3\n", "do not rise"),
        ("time,packets\n1,x\n2,3\n", "c.csv:2"),
        ("time,packets\n2026-11-30T00:00:00,1\n2,3\n", "c.csv:2"),
        ("[1, 2]", "readings"),
        ("[{", "not JSON"),
    ],
)
def test_bad_readings_name_file_and_cure(text, says):
    with pytest.raises(BadInput, match=says):
        read_counters(text, "c.csv")


def test_erspan_numbers_tell_where_no_counter_does_and_unknown_is_not_zero():
    assert by_sequence(inspected(missing=5, erspan=95)).loss_share == pytest.approx(0.05)
    unknown = by_sequence(inspected(10))
    assert (unknown.loss_share, unknown.is_trusted(0.001)) == (None, None)


def report() -> dict[str, Any]:
    row = {"matched": 9, "lost": 1, "delay_ns": {"p50": 1, "p99": 2, "max": 3}}
    way = {
        **row,
        "by_dscp": {"46": dict(row)},
        "by_pcp": {"5": {"matched": 9, "lost": 1}},
        "by_queue": [{"lost": 1, "matched": 9}],
    }
    path = {**row, "from": "core", "to": "srv", "by_dscp": {"46": dict(row)}, "directions": [way], "fault": {"class": "EF"},
            "other_faults": [{}]}  # fmt: skip
    points = [
        {
            "name": name,
            "packets": 900,
            "queues": [{"drops_measured": 4}],
            "damage": None,
            "capture": {"dropped": None, "received": None},
        }
        for name in ("core", "srv")
    ]
    media = [{"point": name, "lost": 3, "mos": 4.1, "mos_assumes": "x"} for name in ("core", "srv")]
    flows = [{"point": "srv", "rtp": {"lost": 3, "mos": 4.1, "mos_assumes": "x"}}, {"point": "core", "rtp": None}]
    fact = {"kind": "lost-between", "point": "core", "not_seen_at": ["srv"]}
    verdicts = [{"evidence": [{"kind": "counted"}, fact], "signals": ["sequence-error", "lost-between-points"]}]
    return {"points": points, "path": path, "paths": [], "media": media, "flows": flows, "verdicts": verdicts}


def test_above_the_limit_losses_and_delays_are_withheld_and_matches_stay():
    told = report()
    withhold(told, [compare(inspected(990, 7, 1000), read_counters(CSV, "c.csv"))])
    path = told["path"]
    assert list(map(str, path["withheld"])) == ["the mirror of core lost 0.50 % (limit 0.1 %, by counters)"]
    assert (path["lost"], path["matched"], path["fault"], path["other_faults"]) == (None, 9, None, [])
    assert path["directions"][0]["by_dscp"]["46"] == {
        "matched": 9,
        "lost": None,
        "delay_ns": {"p50": None, "p99": None, "max": None},
    }
    assert told["points"][0]["mirror"]["trusted"] is False and told["points"][1]["mirror"] is None
    assert told["points"][0]["queues"][0]["drops_measured"] is None


def test_below_the_limit_nothing_is_withheld():
    told = report()
    withhold(told, [compare(inspected(990, 7, 1000), read_counters(CSV, "c.csv"))], limit=0.01)
    assert (told["path"]["lost"], told["path"]["withheld"], told["path"]["fault"]) == (1, [], {"class": "EF"})


def test_what_a_capture_dropped_itself_withholds_losses_of_media_and_places_too():
    told = report()
    told["points"][1]["capture"]["dropped"] = 100
    withhold(told, [])
    assert list(map(str, told["path"]["withheld"])) == ["the capture of srv lost 10.00 % itself (limit 0.1 %)"]
    assert (told["points"][0]["mirror"], told["points"][1]["mirror"]["basis"]) == (None, "capture")
    assert [row["lost"] for row in told["media"]] == [3, None] and told["media"][1]["mos"] is None
    assert told["flows"][0]["rtp"] == {"lost": None, "mos": None, "mos_assumes": None}
    assert (told["verdicts"][0]["evidence"], told["verdicts"][0]["signals"]) == ([{"kind": "counted"}], ["sequence-error"])


def test_a_capture_that_fails_its_checksum_claims_no_loss_and_one_that_ended_early_does():
    for damage, withheld in {"doubtful": ["the capture of srv fails its checksum"], "ended": []}.items():
        told = report()
        told["points"][1]["damage"] = damage
        withhold(told, [])
        assert (list(map(str, told["path"]["withheld"])), told["path"]["lost"] is None) == (withheld, damage == "doubtful")
        assert (told["media"][1]["lost"] is None) == (damage == "doubtful")


def test_a_capture_that_dropped_little_does_not_vouch_for_its_mirror():
    told = report()
    told["points"][0]["capture"]["dropped"], told["points"][1]["capture"]["dropped"] = 0, 1
    withhold(told, [], limit=0.01)
    assert told["points"][0]["mirror"] is None
    assert (told["points"][1]["mirror"]["trusted"], told["path"]["lost"]) == (None, 1)


def test_a_part_of_a_capture_is_judged_by_the_whole():
    told = report()
    told["points"][0]["capture"] = {"dropped": 1_000, "received": 2_000_000}
    withhold(told, [])
    assert (told["points"][0]["mirror"]["loss_share"], told["path"]["withheld"]) == (0.0005, [])


def test_the_worse_of_counters_and_capture_counts_and_the_intervals_stay():
    told = report()
    told["points"][0]["capture"]["dropped"] = 100
    withhold(told, [compare(inspected(990, 7, 1000), read_counters(CSV, "c.csv"))])
    mirror = told["points"][0]["mirror"]
    assert (mirror["basis"], mirror["loss_share"], len(mirror["intervals"]), mirror["resets"]) == ("capture", 0.1, 2, 1)
    told["points"][0]["capture"]["dropped"] = 1
    withhold(told, [compare(inspected(990, 7, 1000), read_counters(CSV, "c.csv"))], limit=0.01)
    assert told["points"][0]["mirror"]["basis"] == "counters"
