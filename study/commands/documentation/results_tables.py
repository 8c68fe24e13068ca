"""Tables of `paper/results.json` and `data/claims.toml`, for README.md and docs/. Nothing is run."""
import json
import re
import tomllib
from collections import Counter
from functools import cache

from study.commands.documentation.markdown import table
from study.documents import claims
from study.ensembles import ensembles
from study.grades import grading
from study.project import ROOT
from study.runs import catalogue
from study.runs.plan import plan
from study.store import results

DOCUMENTS = {"kustarz-2007": "2007, vdev cache", "vandenbogaard-2008": "2008, PostgreSQL on UFS and ZFS",
             "rajadurai-2009": "2009, ladders of tuning steps", "lutz-2010": "2010, order entry on an appliance",
             "bourbonnais-2010": "2010, allocator, deduplication and alignment"}


class Results:
    """`paper/results.json`, as words: numbers by their full names."""

    def __init__(self, committed: dict):
        self.numbers, self.claims = committed["numbers"], committed["claims"]

    def __call__(self, name: str, form: str = ".0f") -> str:
        """A number, with a true minus; a whole part of five digits or more in groups."""
        shown = format(self.numbers[name], form)
        return re.sub(r"(?<=\d)(?=(\d{3})+$)", " ", shown) if re.fullmatch(r"-?\d{5,}", shown) else shown.replace("-", "−")

    def span(self, name: str, form: str = ".0f") -> str:
        """Both ends of an interval in words."""
        return f"{self(f'{name}-low', form)} to {self(f'{name}-high', form)}"

    def ratio(self, name: str, above: str, below: str) -> str:
        """The number `name` of one subject over that of another."""
        return f"{self.numbers[name.format(above)] / self.numbers[name.format(below)]:.0f}"

    def order_entry(self, to_scale: str, at_full_size: str, form: str = ".0f", unit: str = "") -> str:
        """A range of order entry to scale, or at full size where grades are of that."""
        name = f"04_oltp_gain/full-size.{at_full_size}"
        is_full_size = f"{name}-low" in self.numbers
        return f"{self.span(name if is_full_size else to_scale, form)}{unit}" + " at full size" * is_full_size

    def grade(self, claim: str) -> str:
        """The grade of a claim."""
        return self.claims[claim]["grade"]

    def grades(self, *starts: str) -> str:
        """How many claims of a notebook have each grade: those whose names begin so."""
        counts = Counter(claim["grade"] for name, claim in self.claims.items()
                         if name.startswith(starts) and claim["grade"] in ("consistent", "not identified", "not reproduced"))
        return ", ".join(f"{n} {grade}" for grade, n in counts.most_common())

    def thousands(self, name: str) -> str:
        """To the nearest thousand."""
        n = round(self.numbers[name] / 1000)
        return f"{n} 000" if n >= 10 else f"{n}000"


def committed() -> Results:
    """The results in `paper/results.json`, by name."""
    return Results(results.committed())


@cache
def minutes() -> dict[str, float]:
    """How long each notebook takes as it is, by its own words."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    times = {}
    for path in catalogue.books():
        text = "".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
        stated = re.search(r"Run it as it is: about (\w+) (minute|second)", text)
        if stated is not None:
            number = words.index(stated[1]) if stated[1] in words else int(stated[1])
            times[path.stem] = number if stated[2] == "minute" else number / 60
    return times


def times() -> dict[str, str]:
    """The same, for readers."""
    return {name: f"{minute:.0f} min" if minute >= 1 else f"{60 * minute:.0f} s" for name, minute in minutes().items()}


Row = tuple[str, str, str, str]     # claim or question, published, simulated, grade


def summary() -> dict[str, list[Row]]:
    """Of each notebook a row for each claim or question."""
    n = committed()
    trials = ("blind", "second", "third", "fourth")
    within, cells = (sum(n.numbers[f"91_published_setups/{trial}.{count}"] for trial in trials)
                     for count in ("within", "cells"))
    differences = sum(n.numbers[f"90_model_vs_zfs/{of}.differences"] for of in (
        "replay", "alloc", "july", "vdevs", "queue", "raidz"))
    off = ", ".join(n(f"91_published_setups/{trial}.off", ".1f") for trial in trials)
    return {
        "00_claims": [("Do the documents agree with their own figures?", "–",
                       f"{n('00_claims/claims.differing')} of {n('00_claims/claims.checked_by_own_figures')} checkable "
                       "claims differ", "–")],
        "01_vdev_cache_oltp": [("2007: gain, only metadata fills the cache",
                                f"over 20 % (figures: {n('00_claims/oltp-gain.shown')} %)",
                                f"{n.span('01_vdev_cache_oltp/unfitted.gain')} %; fitted "
                                f"{n.span('01_vdev_cache_oltp/fitted.gain')} %; {_matched('01_vdev_cache_oltp')}",
                                n.grade("oltp-gain"))],
        "02_vdev_cache_seqread": [("2007: loss of sequential readers",
                                   f"25 % (figures: {n('00_claims/seqread-loss.shown')} %)",
                                   f"{n.span('02_vdev_cache_seqread/unfitted.loss')} %; "
                                   f"{_matched('02_vdev_cache_seqread')}", n.grade("seqread-loss"))],
        "03_first_fit_best_fit": [
            ("2010: blocks in a bad write", "1 or 2", n.span("03_first_fit_best_fit/unfitted.aggregation.bad_high", ".1f"),
             n.grade("aggregation-bad")),
            ("2010: blocks in a good write", "8 or more",
             f"{n('03_first_fit_best_fit/unfitted.aggregation.good-low', '.1f')} to "
             f"{n('03_first_fit_best_fit/unfitted.aggregation.good-high')}", n.grade("aggregation-good"))],
        "04_oltp_gain": [
            ("2010: gain of order entry by new rules", "up to 50 %",
             f"{n.order_entry('04_oltp_gain/all.gain', 'gain', unit=' %')}; best guess {n('04_oltp_gain/series.gain')} %",
             n.grade("lutz-gain")),
            ("2010: less variability of its test runs", "up to 70 %",
             f"{n.order_entry('04_oltp_gain/all.reduction', 'reduction', unit=' %')}; best guess "
             f"{n('04_oltp_gain/series.reduction')} %", n.grade("lutz-variability")),
            ("2010: old rules fall slowly, return at once", "several test runs (our reading: a skewness of 1.155 or more)",
             f"skewness of changes: {n.span('04_oltp_gain/all.cycle-skewness', '.2f')}", n.grade("lutz-cycle"))],
        "05_io_size_correlation": [
            ("2010: R² of I/O size and throughput", "0.83",
             f"{n.order_entry('05_io_size_correlation/draws.io_size-r2', 'r-squared', '.2f')}; "
             f"best guess {n('05_io_size_correlation/one.r2', '.2f')}", n.grade("lutz-r2"))],
        "06_exchange": [("2010: gain of Exchange by the same rules", "200 %",
                         f"{n.span('06_exchange/part.all')} %; best guess {n('06_exchange/gain')} %",
                         n.grade("exchange-gain"))],
        "07_pgbench_ladder": [
            ("2009: five steps speed up pgbench", "72 to 5003 TPS", _in_order("07_pgbench_ladder/pgbench"),
             n.grades("pgbench-"))],
        "08_sysbench_ladders": [
            ("2009: four steps speed up sysbench", "425 to 1809 TPS", _in_order("08_sysbench_ladders/sysbench-rw"),
             n.grades("sysbench-rw-")),
            ("2009: the same, read-only", "786 to 3065 TPS", _in_order("08_sysbench_ladders/sysbench-ro"),
             n.grades("sysbench-ro-"))],
        "09_postgres_checkpoints": [
            ("2008: bytes written by ZFS (128K by mistake) over those by UFS",
             f"up to 5 times (figures: {n('00_claims/pg-bytes.shown', '.1f')})",
             f"{n.span('09_postgres_checkpoints/unfitted.zfs-over-ufs.bytes', '.1f')} times; best guess "
             f"{n.ratio('09_postgres_checkpoints/{}.write.bandwidth', 'zfs-nine-disks-128k', 'ufs-nine-disks')}",
             n.grade("pg-bytes")),
            ("2008: rate with the intent log", "50 000 TPM",
             f"{n.thousands('09_postgres_checkpoints/unfitted.zfs-300s-15.database.throughput-low')} to "
             f"{n.thousands('09_postgres_checkpoints/unfitted.zfs-300s-15.database.throughput-high')} TPM; "
             f"best guess {n.thousands('09_postgres_checkpoints/zfs-300s-15.database.throughput')}",
             n.grade("pg-throughput")),
            ("2008: rate without it", "90 000 TPM",
             f"{n.thousands('09_postgres_checkpoints/unfitted.zfs-no-zil.database.throughput-low')} to "
             f"{n.thousands('09_postgres_checkpoints/unfitted.zfs-no-zil.database.throughput-high')} TPM; "
             f"best guess {n.thousands('09_postgres_checkpoints/zfs-no-zil-15.database.throughput')}",
             n.grade("pg-no-zil"))],
        "10_your_ladder": [("Which step gives most on your machine?", "–",
                            f"default: {n('10_your_ladder/ladder.first')} to {n('10_your_ladder/ladder.last')} TPS "
                            "with safe steps", "–")],
        "11_your_runs": [("What do your own runs say?", "–",
                          f"{n('11_your_runs/runs.looked-at')} shipped runs; {n('11_your_runs/checks.agree')} of "
                          f"{n('11_your_runs/checks.made')} totals as the tools printed them", "–")],
        "12_measured_ladder": [("Does the model predict a ladder that was measured on a machine at hand?", "–",
                                "what was measured enters no result; the notebook shows it", "–")],
        "13_dedup": [("2010: gain of 8K blocks over 128K, of dedup", "up to 10 times",
                      f"{n.span('13_dedup/gain', '.1f')} times; best guess {n('13_dedup/gain.best-guess', '.1f')}",
                      n.grade("dedup-ratio")),
                     ("2010: an entry of the dedup table in memory", "about 200 bytes",
                      f"{n.span('13_dedup/post.ddt-entry')} bytes", n.grade("ddt-entry"))],
        "14_lun_alignment": [("2010: a misaligned LUN is slower", "2 to 4 times",
                              f"{n.span('14_lun_alignment/unfitted.slowdown', '.1f')} times; best guess "
                              f"{n('14_lun_alignment/unfitted.slowdown-best-guess', '.1f')}", n.grade("alignment-loss"))],
        "15_storage_tiers": [("2009: latency of a large disk, a fast one, an SSD that writes, one that reads",
                              "12 000; 7000; 300; 45 µs",
                              "; ".join(n.span(f"15_storage_tiers/{name}.response")
                                        for name in ("capacity-hdd", "performance-hdd", "ssd-write", "ssd-read")) + " µs",
                              n.grades("speed-"))],
        "90_model_vs_zfs": [
            ("Does the model decide as ZFS did?", "–",
             f"{differences} differences in {n('90_model_vs_zfs/replay.rows')} cache decisions, "
             f"{n.numbers['90_model_vs_zfs/alloc.allocations'] / 1e6:.0f} million blocks",
             "not exact" if differences else "exact"),
            ("How far is its disk from measured drives?", "–",
             f"median demerit {n('90_model_vs_zfs/disk.estimated-median', '.1f')} % (constants estimated on first halves); "
             f"{n('90_model_vs_zfs/disk.data-sheet-median', '.1f')} % from data sheets alone", "–")],
        "91_published_setups": [("How far off are four blind trials?", f"{cells} rates",
                                 f"{within} in their intervals; median error factors {off}", "–")],
    }


def _matched(notebook: str) -> str:
    """The effect in the draws that show what was printed before the change, at the tightest tolerance that leaves enough."""
    n = committed()
    tightest = n(f"{notebook}/matched.tightest")
    lowest, highest = (n(f"{notebook}/matched.within-{tightest}-percent-{end}") for end in ("lowest", "highest"))
    return f"{lowest} to {highest} % in draws within {tightest} % of what was printed before"


def _in_order(ladder: str) -> str:
    """How many readings of a ladder climb as published, in every draw; how many published rates the nearest one gives."""
    n = committed()
    rungs = sum(name.startswith(f"{ladder}.nearest.rung-") for name in n.numbers)
    return (f"{n(f'{ladder}.in-order')} of {n(f'{ladder}.readings')} readings keep the published order; the nearest gives "
            f"{n(f'{ladder}.nearest.met')} of {rungs} rates within a quarter")


def results_table() -> str:
    """A row for each claim, as README has them, with the number of its notebook."""
    return table(("claim", "published", "simulated", "grade"), [
        (f"{claim} ([{notebook[:2]}](notebooks/{notebook}.ipynb))", *row)
        for notebook, rows in summary().items() if notebook not in NO_CLAIMS for claim, *row in rows])


def questions() -> str:
    """A row for each claim or question, with its notebook and how long that takes."""
    taken = times()
    return table(("notebook", "claim or question", "published", "simulated", "grade", "time"), [
        (f"`{notebook}`" if i == 0 else "", *row, taken[notebook] if i == 0 else "")
        for notebook, rows in summary().items() for i, row in enumerate(rows)])


NO_CLAIMS = ("00_claims", "10_your_ladder", "11_your_runs", "12_measured_ladder", "90_model_vs_zfs",
             "91_published_setups")     # they ask questions


def tally() -> str:
    """How many independent claims have each grade, of all that are to be predicted."""
    n = committed()
    counts = Counter(n.grade(claim.id) for claim in claims.read() if claim.predict and not claim.follows_from)
    order = (*grading.GRADES, grading.NOT_MODELLED, grading.NOT_YET)
    rows = [(f"*{grade}*", counts[grade]) for grade in order]
    graded = sum(counts[grade] for grade in grading.GRADES)
    return table(("grade", "independent claims"), [
        *rows[:len(grading.GRADES)], ("graded together", graded), *rows[len(grading.GRADES):],
        ("to be predicted together", counts.total())])


# What each document claims most, in words, and the claims that say so.
HEADLINES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "kustarz-2007": (("a database gains over 20 % when only metadata fills the vdev cache", ("oltp-gain",)),
                     ("sequential readers lose 25 % without it", ("seqread-loss",))),
    "vandenbogaard-2008": (("ZFS writes up to five times UFS's bytes", ("pg-bytes",)),
                           ("50 000 transactions a minute with the intent log", ("pg-throughput",)),
                           ("about 90 000 without it", ("pg-no-zil",))),
    "rajadurai-2009": (("five steps bring pgbench from 72 to 5003 TPS", tuple(f"pgbench-{i}" for i in range(2, 7))),
                       ("four steps bring sysbench from 425 to 1809 TPS", tuple(f"sysbench-rw-{i}" for i in range(2, 6)))),
    "lutz-2010": (("order entry gains up to 50 % by new allocation rules", ("lutz-gain",)),
                  ("it varies up to 70 % less from run to run", ("lutz-variability",))),
    "bourbonnais-2010": (("a bad write holds one or two blocks", ("aggregation-bad",)),
                         ("Exchange gains 200 % by the same rules", ("exchange-gain",)),
                         ("a misaligned LUN is two to four times slower", ("alignment-loss",))),
}


def documents() -> str:
    """The five documents, oldest first, with what they claim most and the grades of that."""
    n, rows = committed(), []
    for name in DOCUMENTS:
        head = tomllib.loads((ROOT / "data" / "published" / f"{name}.toml").read_text())["document"]
        for i, (words, ids) in enumerate(HEADLINES[name]):
            counts = Counter(n.grade(claim) for claim in ids)
            grades = ", ".join(f"{count} *{grade}*" if len(ids) > 1 else f"*{grade}*" for grade, count in counts.items())
            first = (f"`{head['id']}`", head["author"], head["title"], head["date"])
            rows.append((*(first if i == 0 else [""] * len(first)), words, grades))
    return table(("document", "author", "title", "date", "claims", "grade"), rows)


def example() -> str:
    """One claim from its draws to its grade, with the words that grades need."""
    n, notebook = committed(), "01_vdev_cache_oltp"
    draws = plan(catalogue.find(notebook)).parameters["draws"]
    matched = f"{notebook}/matched.within-40-percent"
    best = 100 * (n.numbers[f"{notebook}/after.summary.rate"] / n.numbers[f"{notebook}/before.summary.rate"] - 1)
    spans = {part: n.span(f"{notebook}/part.{part}", form)
             for part, form in (("parameter", ".0f"), ("structure", ".0f"), ("seed", ".1f"))}
    return "\n".join((
        "1. The document of 2007 says that a database gains *over 20 %* when only metadata fills the vdev cache.",
        "   The claim is `oltp-gain`, and `01_vdev_cache_oltp` simulates it.",
        "2. A **draw** chooses one value for everything unknown, such as whether the drives order their commands.",
        "   It simulates both rules with these values, so that it gives one gain.",
        f"3. The **range** of 5 to 95 % of the draws is {n.span(f'{notebook}/unfitted.gain')} %.",
        f"   The **best guess**, one test run with a central value everywhere, gains {best:.0f} %.",
        f"4. **Fitted**: in {n(f'{notebook}/fitted.draws')} of the first {ensembles.FITTED_DRAWS} draws one constant is "
        "chosen so that the rate *before* the change is the published one.",
        f"   The other {n(f'{notebook}/fitted.out-of-reach')} cannot show it. The gain is then "
        f"{n.span(f'{notebook}/fitted.gain')} %.",
        "   The unfitted range always stands beside it.",
        f"5. With unknown numbers alone, such as seek times, the gain is {spans['parameter']} %. With chance alone it is "
        f"{spans['seed']} %.",
        f"   With conditions alone, which the document could have printed in a line, it is {spans['structure']} %.",
        f"6. Of {draws} draws {n(f'{matched}-left')} show all that was printed before the change, within a factor of 1.4.",
        f"   From the least to the most they gain {n(f'{matched}-lowest')} to {n(f'{matched}-highest')} %, and "
        f"{n('00_claims/oltp-gain.shown')} % was printed.",
        "   The rule asks for three of these numbers alone, the rate and two CPU times.",
        "   Draws that show these three gain little more.",
        f"   So the **grade** is **{n.grade('oltp-gain')}**: the claim lies outside of what such draws gain.",
        "   It would be **not identified** if one condition that was not printed decided whether draws reach it."
    ))


def behind() -> str:
    """The table of what stands behind the claims: parts of each interval, and runs at full size."""
    n = committed()
    full = "04_oltp_gain/full.age-"
    rows = [
        ("vdev cache of 2007, gain", "one constant fitted", f"{n.span('01_vdev_cache_oltp/fitted.gain')} %"),
        ("the same", "numbers alone; conditions alone; seeds alone", "; ".join(
            f"{n.span(f'01_vdev_cache_oltp/part.{part}')} %" for part in ("parameter", "structure", "seed"))),
        ("sequential readers, loss", "one constant fitted", f"{n.span('02_vdev_cache_seqread/fitted.loss')} %"),
        ("the same", "numbers alone; conditions alone; seeds alone", "; ".join(
            f"{n.span(f'02_vdev_cache_seqread/part.{part}')} %" for part in ("parameter", "structure", "seed"))),
        ("order entry, gain", "numbers alone; conditions alone; seeds alone", "; ".join(
            f"{n.span(f'04_oltp_gain/part.{part}.gain')} %" for part in ("parameter", "structure", "seed"))),
        ("order entry, cycle", "skewness of changes from test run to test run; 1.155 or more would be a cycle",
         n.span("04_oltp_gain/all.cycle-skewness", ".2f")),
        *((f"order entry at full size, {pool}", "best guess, one seed: gain; less variability",
           f"{n(f'{full}{age}.series.gain')} %; {n(f'{full}{age}.series.reduction')} %")
          for age, pool in (("1.5", "aged pool"), ("0", "pool never rewritten"))),
        ("I/O size and throughput", "share of draws in which I/O size is the best of "
         f"{n('05_io_size_correlation/series.could-explain')} statistics",
         n("05_io_size_correlation/draws.io_size-first", ".2f")),
        ("the same", "best guess: rank of I/O size; R² of the best of many",
         f"{n('05_io_size_correlation/one.rank')}; {n.span('05_io_size_correlation/best.r2', '.2f')}"),
        ("Exchange, gain", "numbers alone; conditions alone; seeds alone", "; ".join(
            f"{n.span(f'06_exchange/part.{part}')} %" for part in ("parameter", "structure", "seed"))),
        ("the same", "a terabyte of mail on 22 mirrored disks, most reads at hand, five seeds",
         f"{n('06_exchange/corner.least')} to {n('06_exchange/corner.most')} %"),
        ("PostgreSQL of 2008", f"of the first {ensembles.FITTED_DRAWS} draws, those that could be fitted",
         n("09_postgres_checkpoints/fitted.draws")),
        ("the model's disk", "median demerit: constants estimated; as described; from data sheets alone", "; ".join(
            f"{n(f'90_model_vs_zfs/disk.{constants}-median', '.1f')} %"
            for constants in ("estimated", "specified", "data-sheet"))),
    ]
    return table(("what", "how", "simulated"), rows)


def ladders() -> str:
    """The table of the ladders' steps: published and simulated factors, and grades."""
    n, targets = committed(), claims.targets().set_index("claim_id").value
    rows = []
    for ladder, name, steps in LADDERS:
        for rung, step in enumerate(steps, start=2):
            of, claim = f"{ladder}.step-{rung}", f"{ladder.partition('/')[2]}-{rung}"
            low, middle, high = (_factor(n.numbers[f"{of}.{which}"]) for which in ("low", "middle", "high"))
            rows.append((name if rung == 2 else "", step, _factor(targets[claim]), f"{low} to {high}", middle,
                         n.grade(claim)))
    return table(("ladder", "step", "published", "simulated", "middle", "grade"), rows)


LADDERS = (
    ("07_pgbench_ladder/pgbench", "pgbench (`07`)", (
        "two striped disks and an SSD as L2ARC", "general tuning of PostgreSQL", "all data on SSD",
        "data on disks, log on SSD", "ARC for metadata only")),
    ("08_sysbench_ladders/sysbench-rw", "sysbench with writes (`08`)", (
        "striped disks", "SSD cache", "separate intent log", "optimisation")),
    ("08_sysbench_ladders/sysbench-ro", "sysbench, read-only (`08`)", (
        "two striped disks", "SSD cache", "separate intent log", "optimisation")),
)


def _factor(x: float) -> str:
    return f"{x:.1g}" if x < 0.095 else f"{x:.0f}" if x >= 10 else f"{x:.1f}"


def trials() -> str:
    """The table of the blind trials: how many rates and ratios came out as predicted."""
    n, rows = committed(), []
    for trial, of, ratios in (("first", "blind", "ratios"), ("second", "second", "second_ratios"),
                              ("third", "third", "third_ratios"), ("fourth", "fourth", "fourth_ratios")):
        rates, clear = f"91_published_setups/{of}", f"91_published_setups/{ratios}"
        wider = f"{n(f'{rates}.widened_within')} of {n(f'{rates}.cells')}, factor {n(f'{rates}.factor', '.1f')}" \
            if f"{rates}.factor" in n.numbers else "–"
        rows.append((trial, f"{n(f'{rates}.within')} of {n(f'{rates}.cells')}", n(f"{rates}.off", ".1f"),
                     n(f"{rates}.worst", ".1f"), f"{n(f'{clear}.foretold')} of {n(f'{clear}.clear')}", wider))
    return table(("trial", "rates within their intervals", "median error factor", "worst",
                  "direction of clear ratios foretold", "within the interval widened by earlier trials"), rows)


def every_claim() -> str:
    """Every claim that is to be predicted, by document."""
    n, lines = committed(), []
    for document, title in DOCUMENTS.items():
        rows = [(f"`{claim.id}`" + (f", from `{claim.follows_from}`" if claim.follows_from else ""),
                 claim.printed.replace("|", "\\|"), (claim.notebook or "–").partition("_")[0],
                 n.claims[claim.id]["audit"], n.grade(claim.id))
                for claim in claims.read() if claim.predict and claim.document == document]
        lines += [f"### {title}", "", table(("claim", "as printed", "notebook", "audit", "grade"), rows), ""]
    return "\n".join(lines[:-1])
