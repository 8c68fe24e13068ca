"""iostat and zpool iostat: what is read of them is what they printed."""
import json

import pytest

from study.errors import UserError
from support import zpool_text
from support.awk import awk
from support.imported_runs import FIXTURES

# --- zpool iostat -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["0.7", "0.8", "2.2"])
@pytest.mark.parametrize("options", ["", "l", "q", "lq"])
@pytest.mark.parametrize("bare", [False, True])
def test_zpool_iostat_of_each_release(bring, release, options, bare):
    """Every layout, with and without a header; each value is its place, so that a wrong column shows."""
    n = zpool_text.width(release, options)
    values = [[1000 * report + place + 1 for place in range(n)] for report in range(3)]
    if bare and n == 16:  # nothing but a dash or a zero tells the two layouts of 16 numbers
        values[1][-1] = None if "l" in options else 0
    text = zpool_text.table(release, options, [{"tank": row} for row in values], [1795221912 + n for n in range(3)], bare)
    run = bring("zpool.txt", text)
    there = [[value for value in row if value is not None] for row in values]
    for series, chosen in (("zpool.vdevs_since_import", there[:1]), ("zpool.vdevs", there[1:])):
        rows = run.sql(f"SELECT value, unit FROM observations WHERE run_id = $1 AND series = '{series}' ORDER BY t, value")
        assert sorted(value for value, _ in rows) == sorted(value for row in chosen for value in row)
    last = dict(run.sql("SELECT name, value FROM observations WHERE run_id = $1 AND t = 2"))
    assert (last["space.allocated"], last["writes"], last["write_bandwidth"]) == (2001, 2004, 2006)
    if "l" in options:
        assert last["scrub.wait"] == 2015
        assert ("trim.wait" in last, "rebuild.wait" in last) == (release != "0.7", release == "2.2")
    if "q" in options:
        assert last["sync_read.pending"] == 2000 + n - zpool_text.QUEUES[release] + 1
    assert {shown["starts"] for shown in run.report.series} == {"2026-11-21T00:45:12.000000"}


def test_hierarchy_and_sections_of_a_pool(bring):
    rows = {
        "tank": [10, 20, 1, 2, 3, 4],
        "  mirror": [10, 20, 1, 2, 3, 4],
        "    sda": [0, 0, 1, 1, 1, 2],
        "logs": [None] * 6,
        "  nvme0n1": [5, 5, 0, 9, 0, 9],
        "cache": [None] * 6,
        "  nvme0n2": [6, 6, 7, 0, 7, 0],
        "rpool": [1, 2, 3, 4, 5, 6],
    }
    run = bring("zpool.txt", zpool_text.table("2.2", "", [rows, rows]))
    subjects = dict(
        run.sql("SELECT subject, count(*) FROM observations WHERE run_id = $1 AND series = 'zpool.vdevs' GROUP BY 1")
    )
    assert subjects == {
        "tank": 6,
        "tank/mirror": 6,
        "tank/mirror/sda": 4,
        "tank/logs/nvme0n1": 6,
        "tank/cache/nvme0n2": 6,
        "rpool": 6,
    }


PRINTED = """Mon Mar 15 13:48:44 MST 2021
                capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  scrub   trim
pool          alloc   free   read  write   read  write   read  write   read  write   read  write   read  write   wait   wait
------------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
pool2         2.76T  4.51T  9.56K  62.5K  82.0M   926M  269us    1ms  258us  131us    6us    1us  163us    1ms  452us    2ms
  mirror       564G   924G  1.91K  12.9K  16.4M   188M  302us    1ms  290us  126us    6us    1us  211us    1ms    1ms    2ms
    pool2-1       -      -    979  6.42K  8.23M  94.1M  302us    1ms  290us  127us    6us    1us  212us    1ms    2ms    2ms
"""


def test_human_numbers_are_of_1024_and_ns(bring):
    run = bring("zpool.txt", PRINTED)
    values = dict(run.sql("SELECT name, value FROM observations WHERE run_id = $1 AND subject = 'pool2'"))
    assert [
        values[name] for name in ("space.allocated", "reads", "write_bandwidth", "read.wait", "write.wait", "trim.wait")
    ] == [2.76 * 1024**4, 9.56 * 1024, 926 * 1024**2, 269e3, 1e6, 2e6]
    assert any("without -p" in warning for warning in run.tool["warnings"])
    [series] = run.report.series
    assert series["starts"] is None
    assert "MST" in series["clock"]


def test_a_zone_that_the_user_gives_sets_the_clock(bring):
    run = bring("zpool.txt", PRINTED, utc_offset="-07:00")
    assert run.report.series[0]["starts"] == "2021-03-15T20:48:44.000000"


@pytest.mark.parametrize("release", ["0.7", "0.8", "2.2"])
@pytest.mark.parametrize("bare", [False, True])
def test_histograms_of_waits(bring, release, bare):
    n = zpool_text.WAITS[release]
    rows = [
        ((2 ** (place + 1) - 1) if bare else label, [place + 1] * n)
        for place, label in enumerate(["1ns", "3ns", "7ns", "15ns", "31ns", "63ns"])
    ]
    text = zpool_text.waits(release, "tank", rows, bare) + zpool_text.waits(release, "tank", rows, bare)
    run = bring("w.txt", text)
    assert run.sql("SELECT count(*), sum(value) FROM histograms WHERE run_id = $1 AND series = 'zpool.waits'") == [
        (6 * n, 21 * n)
    ]
    assert run.sql("""SELECT DISTINCT low, high FROM histograms WHERE run_id = $1 AND value = 3 AND name = 'read.wait'
                      ORDER BY low""") == [(4, 8)]
    assert run.sql('SELECT DISTINCT series, "of" FROM histograms WHERE run_id = $1 ORDER BY 1') == [
        ("zpool.waits", "operations/s"),
        ("zpool.waits_since_import", "operations"),
    ]


# --- iostat -----------------------------------------------------------------------------------------------------------

GENERATIONS = {
    "text, up to 11.5.6": "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "text, 11.5.7 to 12.1.1": (
        "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util"
    ),
    "text, 12.1.2 or later": (
        "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s "
        "drqm/s %drqm d_await dareq-sz aqu-sz %util"
    ),
    "text, 12.3.1 or later": (
        "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s "
        "drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util"
    ),
}


@pytest.mark.parametrize("dialect", GENERATIONS)
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_iostat_of_each_generation(bring, dialect, decimal, end):
    columns = GENERATIONS[dialect].split()[1:]
    reports = "".join(
        f"{GENERATIONS[dialect]}\n{device}  " + "  ".join(f"{10 * n + place}.25" for place in range(len(columns))) + "\n\n"
        for n in (1, 2, 3)
        for device in ["sda"]
    )
    text = ("Linux 6.1.0-18-amd64 (db1)\t11/21/26\t_x86_64_\t(2 CPU)\n\n" + reports).replace(".25", f"{decimal}25")
    run = bring("iostat.txt", text.replace("\n", end))
    values = dict(run.sql("SELECT name, value FROM observations WHERE run_id = $1 AND t = 2"))
    golden = {"reads": "r/s", "write_bandwidth": "wkB/s", "busy": "%util", "read.response": "r_await"}
    assert {name: values[name] for name in golden} == {
        name: 30.25 + columns.index(column) for name, column in golden.items()
    }
    assert run.tool["dialect"] == dialect


@pytest.mark.parametrize("name", ["mega", "boot", "local_time", "short"])
def test_iostat_is_as_printed(bring, name):
    run = bring(f"iostat/{name}.txt")
    last = awk(
        '$1 == "vda" {for (i = 2; i <= NF; i++) line = line " " $i; last = line; line = ""} END {print last}',
        FIXTURES / f"iostat/{name}.txt",
    )
    assert sorted(value for (value,) in run.sql("""
        SELECT value FROM observations WHERE run_id = $1 AND series = 'iostat.disks'
        AND t = (SELECT max(t) FROM observations WHERE run_id = $1)""")) == sorted(last)
    units = {unit for (unit,) in run.sql("SELECT unit FROM observations WHERE run_id = $1 AND name LIKE '%bandwidth'")}
    assert units == ({"MiB/s"} if name == "mega" else {"KiB/s"})


def test_iostat_in_json_is_what_it_says(bring):
    run = bring("iostat/whole.json")
    golden = json.loads((FIXTURES / "iostat/whole.json").read_text())["sysstat"]["hosts"][0]["statistics"]
    rows = run.sql(
        "SELECT name, value FROM observations WHERE run_id = $1 AND series = 'iostat.disks' AND name = 'writes' ORDER BY t"
    )
    assert [value for _, value in rows] == [report["disk"][0]["w/s"] for report in golden[1:]]
    assert golden[0]["timestamp"].startswith(run.report.series[0]["starts"][:19])


def test_json_that_sigterm_cut_is_refused_or_marked(bring):
    with pytest.raises(UserError, match="stop it by SIGINT"):
        bring("iostat/cut.json")
    run = bring("iostat/cut.json", partial=True)
    text = (FIXTURES / "iostat/cut.json").read_text()
    assert run.tool["rows_read"] == text.count('"disk_device": "vda"')


SIZES = """bckpool       sync_read    sync_write    async_read    async_write      scrub         trim
req_size      ind    agg    ind    agg    ind    agg    ind    agg    ind    agg    ind    agg
----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
512             0      0      0      0      0      0      0      0      0      0      0      0
4K              0      0      0      0      0      0  2.13K      0      0      0      0      0
8K              0      7      0      0      0      0     40      0      0      0      0      0
------------------------------------------------------------------------------------------
"""


def test_histograms_of_request_sizes_have_their_lower_ends(bring):
    run = bring("r.txt", SIZES + SIZES.replace("2.13K", "  600"))
    assert run.sql(
        "SELECT series, name, low, high, value, unit FROM histograms WHERE run_id = $1 ORDER BY series DESC, low, name"
    ) == [
        ("zpool.sizes_since_import", "async_write.individual", 4096, 8192, 2.13 * 1024, "B"),
        ("zpool.sizes_since_import", "async_write.individual", 8192, 16384, 40, "B"),
        ("zpool.sizes_since_import", "sync_read.aggregated", 8192, 16384, 7, "B"),
        ("zpool.sizes", "async_write.individual", 4096, 8192, 600, "B"),
        ("zpool.sizes", "async_write.individual", 8192, 16384, 40, "B"),
        ("zpool.sizes", "sync_read.aggregated", 8192, 16384, 7, "B"),
    ]


def test_a_label_of_8us_covers_4_to_8(bring):
    rows = [(f"{n}ns", [0] * 10) for n in (1, 3, 7)] + [("8us", [5] * 10)]
    run = bring("w.txt", zpool_text.waits("0.8", "tank", rows))
    assert run.sql("SELECT DISTINCT low, high FROM histograms WHERE run_id = $1") == [(4096, 8192)]
