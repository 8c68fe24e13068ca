"""fio: what is read of a run is what the tool printed."""
import json

import pytest

from study.errors import UserError
from support.awk import awk
from support.imported_runs import FIXTURES

# --- fio --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "jobs"),
    [
        ("one", ["rr"]),
        ("plus.json", ["read it"]),
        ("grouped.json", ["rr"]),
        ("leading.json", ["rr"]),
        ("status.json", ["rr"]),
    ],
)
def test_fio_is_as_printed(bring, name, jobs):
    run = bring(f"fio/{name}")
    text = (FIXTURES / "fio" / (f"{name}/one.json" if name == "one" else name)).read_text()
    golden, _ = json.JSONDecoder().raw_decode(text[text.rindex("\n{") + 1 if "\n{" in text else 0 :])
    assert [job for job in {job["jobname"] for job in golden["jobs"]} if job] == jobs
    for direction in ("read", "write"):
        part = golden["jobs"][0][direction]
        key = f"fio.{jobs[0].replace(' ', '_')}.{direction}"
        if not part["total_ios"]:
            assert f"{key}.iops" not in run
            continue
        assert [run[f"{key}.{name}"] for name in ("operations", "bytes", "bandwidth", "iops")] == [
            part["total_ios"],
            part["io_bytes"],
            part["bw_bytes"],
            part["iops"],
        ]
        assert run[f"{key}.completion.p99"] == pytest.approx(part["clat_ns"]["percentile"]["99.000000"] / 1e6)
        assert run[f"{key}.completion.p99_9"] == pytest.approx(part["clat_ns"]["percentile"]["99.900000"] / 1e6)


def test_fio_for_people_is_its_json_rounded(bring):
    """One run of fio 3.33, printed in both ways: reads, a mix in a group, and a log that is synced."""
    people, numbers = bring("fio/people.txt"), bring("fio/people.json")
    names = "SELECT name, value FROM metrics WHERE run_id = $1"
    printed, exact = dict(people.sql(names)), dict(numbers.sql(names))
    assert printed.keys() == exact.keys()
    assert {"fio.rr.read.response.p99_9", "fio.mix.write.completion.p50", "fio.log.sync.response.p99"} <= exact.keys()
    last_digit = {name: 1e-3 if ".completion." in name or ".response." in name else 0.0 for name in exact}   # ms
    for name, value in exact.items():
        assert printed[name] == pytest.approx(value, rel=0.006, abs=1.01 * last_digit[name]), name


def test_logs_of_fio_have_their_units_and_a_clock(bring):
    run = bring("fio/one")
    sums = {
        name: awk("-F,{n++; s += $2} END {print n, s}".removeprefix("-F,"), FIXTURES / f"fio/one/rr_{what}.1.log")
        for what, name in (("bw", "bandwidth"), ("iops", "iops"), ("clat", "completion"), ("lat", "response"))
    }
    rows = run.sql(
        """SELECT name, count(*), sum(value), any_value(unit) FROM observations WHERE run_id = $1 GROUP BY name"""
    )
    assert {name: [n, total] for name, n, total, _ in rows} == {name: pytest.approx(pair) for name, pair in sums.items()}
    assert {name: unit for name, *_, unit in rows} == {
        "bandwidth": "KiB/s",
        "iops": "1/s",
        "completion": "ns",
        "response": "ns",
    }
    golden = json.loads((FIXTURES / "fio/one/one.json").read_text())
    [starts] = {series["starts"] for series in run.report.series}
    assert starts.startswith("2026-11-26T21:32:17")
    assert golden["timestamp"] - 1795728737 == 2


def test_bins_of_fio_hold_the_percentiles_that_it_printed(bring):
    """The bins of json+ against fio's own percentiles: each lies in the bin where that share of operations is reached."""
    run = bring("fio/plus.json")
    bins = run.sql("SELECT low, high, value FROM histograms WHERE run_id = $1 AND subject = 'read_it/read' ORDER BY low")
    n, seen = sum(value for *_, value in bins), 0
    wanted = {0.5: run["fio.read_it.read.completion.p50"], 0.99: run["fio.read_it.read.completion.p99"]}
    for low, high, value in bins:
        for share, printed in wanted.items():
            if seen < share * n <= seen + value:
                assert low <= printed * 1e6 <= high
        seen += value
    assert n == 601


def test_histogram_logs_of_fio_hold_every_operation_so_far(bring):
    run = bring("fio/one")
    golden = awk("{for (i = 4; i <= NF; i++) n += $i} END {print n}", FIXTURES / "fio/one/rr_clat_hist.1.log")
    assert run.sql("SELECT sum(value) FROM histograms WHERE run_id = $1") == [(golden[0],)]
    [(least, most)] = run.sql("SELECT min(low), max(high) FROM histograms WHERE run_id = $1")
    part = json.loads((FIXTURES / "fio/one/one.json").read_text())["jobs"][0]["read"]["clat_ns"]
    assert part["min"] * 0.9 <= least
    assert most <= part["max"] * 1.1


def test_a_failed_job_of_fio_is_refused(bring):
    with pytest.raises(UserError, match=r"job bad did no I/O|ended with error"):
        bring("fio/failed.json")


TWO_15 = {
    "fio version": "fio-2.15",
    "timestamp": 1473437411,
    "jobs": [
        {
            "jobname": "a",
            "groupid": 0,
            "error": 0,
            "job options": {"rw": "randread"},
            "read": {
                "io_bytes": 409600,
                "bw": 102400,
                "iops": 25600.0,
                "runtime": 4000,
                "total_ios": 102400,
                "slat": {"min": 0, "max": 0},
                "clat": {
                    "min": 54,
                    "max": 135676,
                    "mean": 2892.5,
                    "stddev": 1.0,
                    "percentile": {"1.000000": 56, "99.000000": 9000},
                },
                "lat": {"min": 54, "max": 135676, "mean": 2893.0, "stddev": 1.0},
            },
            "write": {"total_ios": 0},
        }
    ],
}


def test_fio_2_has_us_and_kib(bring):
    run = bring("old.json", json.dumps(TWO_15))
    assert [run[f"fio.a.read.{name}"] for name in ("bytes", "completion.mean", "completion.p99")] == [
        409600 * 1024,
        2.8925,
        9.0,
    ]
    assert run.tool["dialect"] == "json, times in us"
    assert all(check["agrees"] for check in run.tool["checks"])


def test_terse_fio_has_the_totals(bring):
    run = bring("fio/terse.txt")
    words = (FIXTURES / "fio/terse.txt").read_text().split(";")
    assert [run[f"fio.rr.read.{name}"] for name in ("bytes", "iops")] == [float(words[5]) * 1024, float(words[7])]
