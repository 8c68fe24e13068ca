"""Tables of `paper/results.json` and `data/claims.toml`, for README.md and docs/. Nothing is run."""
import json
import re
import tomllib
from collections import Counter
from functools import cache

from study.commands.documentation.committed_results import committed
from study.commands.documentation.markdown import table
from study.commands.documentation.summary_rows import summary
from study.documents import claims
from study.ensembles import ensembles
from study.grades import committed_intervals, grading
from study.project import ROOT
from study.runs import catalogue
from study.runs.plan import plan

DOCUMENTS = {"kustarz-2007": "2007, vdev cache", "vandenbogaard-2008": "2008, PostgreSQL on UFS and ZFS",
             "rajadurai-2009": "2009, ladders of tuning steps", "lutz-2010": "2010, order entry on an appliance",
             "bourbonnais-2010": "2010, allocator, deduplication and alignment"}


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
        f"   The other {n(f'{notebook}/fitted.out-of-reach')} reach that rate with no constant. The gain is then "
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
        ("the same", "best guess: rank of I/O size; R² of the best statistic, by bootstrap",
         f"{n('05_io_size_correlation/one.rank')}; {n.span('05_io_size_correlation/best.r2', '.2f')}"),
        ("Exchange, gain", "numbers alone; conditions alone; seeds alone", "; ".join(
            f"{n.span(f'06_exchange/part.{part}')} %" for part in ("parameter", "structure", "seed"))),
        ("the same", "a terabyte of mail on 22 mirrored disks, most reads from memory or flash, five seeds",
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
                 n.claims[claim.id]["audit"],
                 n.grade(claim.id) + ", at full size" * (committed_intervals.n_left(claim.id, n.numbers) is not None))
                for claim in claims.read() if claim.predict and claim.document == document]
        lines += [f"### {title}", "", table(("claim", "as printed", "notebook", "audit", "grade"), rows), ""]
    return "\n".join(lines[:-1])
