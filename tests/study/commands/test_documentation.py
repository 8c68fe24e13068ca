"""The handbook: README, DESIGN, CONTRIBUTING and docs/. Pages that are made are up to date, what is written is short."""
import re
import tomllib
from collections import Counter

import pytest

from study.commands.documentation import handbook, results_tables, scenario_tables, simpler_models, speed_table
from study.documents import claims, published
from study.grades import grading
from study.machines import base_section, conf
from study.paper.sources import GIVEN
from study.project import ROOT
from study.runs import catalogue
from study.store import contents, results, store
from support import prose

README = (ROOT / "README.md").read_text()
PAGES = sorted((*(ROOT / name for name in ("README.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md")),
                *(path for folder in ("docs", "data") for path in (ROOT / folder).rglob("*.md")
                  if ".ipynb_checkpoints" not in path.parts)))     # which JupyterLab leaves of a page that was opened
MAX_LINES, MAX_WORDS = 150, 25


def words(path):
    """A page with its line breaks taken out."""
    return " ".join(path.read_text().split())


# --- pages that are made ------------------------------------------------------------------------------------------------

def test_pages_with_something_made_are_up_to_date():
    for path, text in handbook.pages().items():
        assert path.read_text() == text, f"{path.name} is out of date; write it with: study docs"


def test_study_docs_says_what_is_out_of_date(study, monkeypatch):
    assert study("docs", "--check").stdout == "all pages are up to date\n"
    monkeypatch.setitem(handbook.MADE, "commands", lambda: "something else")
    done = study("docs", "--check")
    assert (done.returncode, done.stdout) == (1, "out of date: docs/commands.md\n")


def test_every_verb_has_its_help_and_every_key_its_text():
    commands = (ROOT / "docs" / "commands.md").read_text()
    for verb in ("run", "predict", "replay alloc", "check paper", "docs"):
        assert f"\n## study {verb}\n" in commands
    assert "\x1b" not in commands
    for _, section in scenario_tables.SECTIONS:
        for name, field in section.model_fields.items():
            assert field.description or name in ("kind", "host", "files", "pool", "database"), f"{section.__name__}.{name}"


def test_every_section_and_setting_of_a_scenario_is_described():
    assert {section for _, section in scenario_tables.SECTIONS} == {
        section for section in base_section.every_kind() if section.__module__.startswith("study.")}
    page = (ROOT / "docs" / "scenarios.md").read_text()
    for _, known in conf.KNOWN.values():
        assert all(f"| `{name}` |" in page for name in known)


# --- numbers that are typed ---------------------------------------------------------------------------------------------

def test_readme_tells_what_comes_out():
    accepted = results.committed()
    numbers = accepted["numbers"]
    independent = [claim.id for claim in claims.read() if claim.predict and not claim.follows_from]
    grades = Counter(accepted["claims"][name]["grade"] for name in independent)
    trials = ("blind", "second", "third", "fourth")

    def total(count, tail=""):
        return sum(numbers[f"91_published_setups/{(trial + tail).replace('blind_', '')}.{count}"] for trial in trials)

    bytes_ = {test: numbers[f"09_postgres_checkpoints/{test}.write.bandwidth"]
              for test in ("zfs-nine-disks-128k", "ufs-nine-disks")}
    sentences = (
        f"{grades[grading.NOT_IDENTIFIED]} of the {sum(grades[grade] for grade in grading.GRADES)} independent graded "
        "claims",
        f"{grades[grading.NOT_IDENTIFIED]} are *not identified*, {grades[grading.CONSISTENT]} *consistent*, "
        f"{grades[grading.NOT_REPRODUCED]} *not reproduced* and {grades[grading.PREDICTED]} are *predicted*.",
        f"Another {grades[grading.NOT_MODELLED]} are not modelled.",
        f"moved {numbers['90_model_vs_zfs/every-read.disk_per_record']:.0f} KiB for each record of 8 KiB",
        f"data sheets alone it is off by {numbers['90_model_vs_zfs/disk.data-sheet-median']:.1f} %",
        "{:.0f} of {:.0f} checkable claims differ".format(*(
            numbers[f"00_claims/claims.{which}"] for which in ("differing", "checked_by_own_figures"))),
        "best guess: {:.0f})".format(bytes_["zfs-nine-disks-128k"] / bytes_["ufs-nine-disks"]),
        f"{total('within')} of {total('cells')} rates lay within their intervals",
        f"right in {total('foretold', '_ratios')} of {total('clear', '_ratios')} clear comparisons")
    assert grades[grading.NOT_YET] == 0
    for sentence in sentences:
        assert sentence in words(ROOT / "README.md")


def test_readme_takes_one_claim_from_its_draws_to_its_grade_before_it_gives_grades():
    of, accepted = "01_vdev_cache_oltp", results.committed()
    gains = {kind: [f"{accepted['numbers'][f'{of}/{kind}.gain-{end}']:.0f}" for end in ("low", "high")]
             for kind in ("unfitted", "fitted")}
    best = 100 * (accepted["numbers"][f"{of}/after.summary.rate"] / accepted["numbers"][f"{of}/before.summary.rate"] - 1)
    example, answers = words(ROOT / "README.md").partition("**One claim as an example.**")[2].split("- **2007", 1)
    for sentence in (f"is {' to '.join(gains['unfitted'])} %.", f"range is {' to '.join(gains['fitted'])} %.",
                     f"gains {best:.0f} %.", f"*grade*, given by rule, is *{accepted['claims']['oltp-gain']['grade']}*"):
        assert sentence in example
    for word in ("draw", "range", "best guess", "condition", *grading.GRADES):
        assert f"*{word}*" in example
    assert "*not identified*" in answers


def test_readme_has_one_row_for_each_claim_and_a_way_to_its_notebook():
    heads, _, *rows = README.partition("<!-- made: results -->\n")[2].partition("<!-- end -->")[0].splitlines()
    assert heads == "| claim | published | simulated | grade |"
    assert all(row.split(" | ")[-1].strip(" |") not in ("", "–") for row in rows)
    opened = re.findall(r"\(\[(\d\d)\]\(notebooks/\1_\w+\.ipynb\)\)", "\n".join(rows))
    assert len(opened) == len(rows)
    with_claims = {claim.notebook[:2] for claim in claims.read() if claim.predict and claim.notebook}
    assert set(opened) == with_claims


def test_the_list_of_claims_and_questions_has_every_notebook():
    rows = results_tables.questions().splitlines()[2:]
    assert [path.stem for path in catalogue.books()] == re.findall(r"^\| `(\w+)` \|", "\n".join(rows), re.M)


def test_everything_that_can_be_made_is_on_a_page():
    asked = [block[1] for path in PAGES for block in handbook.BLOCK.finditer(path.read_text())]
    assert set(asked) == set(handbook.MADE)


def test_the_pages_on_grades_and_scales_tell_what_comes_out():
    numbers = results.committed()["numbers"]
    full = {name.removeprefix("04_oltp_gain/full.age-"): value for name, value in numbers.items()}
    low, high, best = (numbers[f"08_sysbench_ladders/sysbench-ro.rung-1.{name}"] for name in ("lowest", "highest", "rate"))

    def over_draws(name):
        return [numbers[f"09_postgres_checkpoints/unfitted.{name}-{end}"] for end in ("low", "high")]
    lowest_gain, highest_gain = (numbers[f"06_exchange/corner.{end}"] for end in ("least", "most"))
    sentences_of = {
        "grades.md": (
            f"is {low:.0f} to {high:.0f} TPS over all readings of the words, and {best:.0f} by the best guess",
            f"it is {round(lowest_gain, -1):.0f} to {round(highest_gain, -1):.0f} %",
            "That of Exchange is {:.0f} to {:.0f} % over seeds".format(*(
                numbers[f"06_exchange/part.seed-{end}"] for end in ("low", "high"))),
            f"{200 * numbers['05_io_size_correlation/draws.io_size-first']:.0f} of 200 draws"
            .replace("20 draws", "twenty draws")),
        "order-entry.md": (
            "| aged 1.5 turnovers | {:.0f} % | {:.0f} % | {:.2f} | {:.2f} |".format(*(full[f"1.5.{name}"] for name in (
                "series.gain", "series.reduction", "before.io-size.r2", "before.best.r2"))),
            "| never rewritten | {:.0f} % | {:.0f} % | {:.2f} | {:.2f} |".format(*(full[f"0.{name}"] for name in (
                "series.gain", "series.reduction", "before.io-size.r2", "before.best.r2"))),
            *("| 1:{} | 1:{} | {:.0f} % | two |".format(*pair.split("-"), numbers[f"04_oltp_gain/scale.{pair}.gain"])
              for pair in ("128-32", "128-16", "128-64", "256-64")),
            f"has 30 and gains {numbers['04_oltp_gain/series.gain']:.0f} %",
            "collapses to {:.0f} transactions a second".format(full["0.before.least"]),
            "stays down for up to {:.0f} test runs".format(full["0.before.low.longest"])),
        "checkpoints-2008.md": (
            *(f"{numbers[f'09_postgres_checkpoints/{name}']:.0f} MB/s" for name in (
                "ufs-nine-disks.write.bandwidth", "zfs-nine-disks-128k.write.bandwidth")),
            "Over all draws that mean is {:.0f} to {:.0f} MB/s, and {:.0f} in the middle".format(
                *over_draws("zfs-nine-disks-128k.read.bandwidth"),
                numbers["09_postgres_checkpoints/unfitted.zfs-nine-disks-128k.read.bandwidth-middle"]),
            f"reads {numbers['09_postgres_checkpoints/zfs-nine-disks-128k.read.bandwidth']:.1f} MB/s in the mean",
            "run steadily after {:.0f} to {:.0f} minutes".format(*(
                seconds / 60 for seconds in over_draws("seven-arrays.throughput.stable_from")))),
        "predicting.md": tuple(
            f"{numbers[f'91_published_setups/{trial}.within']} of {numbers[f'91_published_setups/{trial}.cells']}"
            for trial in ("blind", "second", "third", "fourth"))}
    for page, sentences in sentences_of.items():
        for sentence in sentences:
            assert sentence in words(ROOT / "docs" / page), page


def test_the_published_numbers_of_the_ladders_are_those_published():
    rates = {run.run_id.partition("/")[2]: run.metrics.set_index("name").value.get("transactions.rate")
             for run in published.runs()}
    ends = [f"{rates[f'{ladder}-1']:g} to {rates[f'{ladder}-{last}']:g} TPS"
            for ladder, last in (("pgbench", 6), ("sysbench-rw", 5), ("sysbench-ro", 5))]
    assert all(f"| {end} |" in README for end in ends)
    assert f"{rates['sysbench-ro-1']:g} were published" in words(ROOT / "docs" / "grades.md")


# --- the run store ------------------------------------------------------------------------------------------------------

RUN_STORE = (ROOT / "docs" / "run-store.md").read_text()


def queries():
    return re.findall(r"^SELECT .*;$", RUN_STORE, re.M)


def test_the_ten_queries_run_on_a_store_without_runs(runs):
    assert len(queries()) == 10
    with store.open() as connection:
        answers = [connection.execute(query).fetchall() for query in queries()]
    assert sum(map(bool, answers)) >= 3      # published numbers and claims are there at once


def test_the_schema_that_is_described_is_the_store_s(runs):
    with store.open() as connection:
        for table in ("runs", "params", "metrics", "samples", "figures", "claims", "predictions", *contents.OF_IMPORTS):
            columns = [name for name, *_ in connection.execute(f"DESCRIBE {table}").fetchall()]
            row = re.search(rf"^\| `{table}` \|.*$", RUN_STORE, re.M)[0]
            described = re.sub(r"\([^)]*\)", "", row.split("|")[3])
            assert [word.strip() for word in described.split(",")] == columns, table


# --- words --------------------------------------------------------------------------------------------------------------

def test_readme_ends_within_a_few_screens():
    assert len(README.splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_sentence_has_more_than_twenty_five_words(path):
    long = [sentence for sentence in prose.sentences(path.read_text()) if prose.n_words(sentence) > MAX_WORDS]
    assert not long, "\n".join(long)


def test_long_sentences_are_seen():
    short, long = "A table is no sentence.", " ".join(["word"] * 26)
    page = f"# Title\n\n{short} {long}\nends.\n\n| {long} |\n\n```\n{long}\n```\n- item\n- other item\n"
    assert [len(sentence.split()) for sentence in prose.sentences(page)] == [5, 27, 2, 3]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_pages_and_headings(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        to = (path.parent / file).resolve() if file else path
        assert to.exists(), f"{path.name}: {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", to.read_text(), re.M)
            anchors = {re.sub(r"[^\w\- ]", "", heading_text.lower()).replace(" ", "-") for heading_text in headings}
            assert heading in anchors, f"{path.name}: {target}"


def test_the_paper_quotes_the_speeds_of_the_record():
    """The extremes, as the table in docs/traces.md has them."""
    measured = tomllib.loads((ROOT / "data" / "real_code_speed.toml").read_text())
    rewrites = [row for row in measured["allocator"] if row["trace"].startswith("rand4k")]
    quoted = GIVEN.findall((ROOT / "paper" / "sections" / "method.typ").read_text())
    for rows, name in ((rewrites, "real_ns"), (rewrites, "model_ns"), (rewrites, "fast_ns"),
                       (measured["vdev_cache"], "real_ns"), (measured["vdev_cache"], "model_ns")):
        low, high = min(row[name] for row in rows), max(row[name] for row in rows)
        assert f"{low} to {high}" in quoted
        assert f"{low} to {high} ns" in speed_table.real_code_speed()
    for low, high in (measured["side_by_side"][name] for name in ("exact", "fast")):
        assert f"{low} to {high}" in quoted
        assert f"{low} to {high} times" in speed_table.real_code_speed().replace("\n", " ")


def test_the_words_of_grades_are_explained_on_one_claim_before_they_are_used():
    text = (ROOT / "docs" / "grades.md").read_text()
    example, rest = text.split("<!-- end -->", 1)
    assert all(f"**{word}**" in example for word in ("draw", "range", "best guess", "Fitted", "grade", "not identified"))
    assert "## The rule" in rest


def test_the_five_documents_stand_in_readme_and_where_it_leads_first_with_claims_and_grades():
    first = re.search(r"\[Five documents\]\((.*?)\)", (ROOT / "README.md").read_text())[1]
    page = (ROOT / first).read_text().split("<!-- end -->", 1)[0]
    assert "| document | author | title | date | claims | grade |" in page
    for path in (ROOT / "data" / "published").glob("*.toml"):
        head = tomllib.loads(path.read_text())["document"]
        assert all(head[key] in page for key in ("id", "author", "title", "date"))
        author, title, date = (head[key] for key in ("author", "title", "date"))
        beginning = title.partition("; ")[0].partition(" (")[0]
        link = re.escape(f"(data/published/{path.name})")
        name = rf"{re.escape(author)}, \[\*{re.escape(beginning)}[^*]*\*\]{link}.*?{re.escape(date)}"
        first = re.search(name, words(ROOT / "README.md"))
        assert first, f"README does not name {author}'s document"
        assert "*consistent*" in words(ROOT / "README.md")[:first.start()], "grades are explained before it"
    known = {claim.id for claim in claims.read() if claim.predict}
    assert {claim for rows in results_tables.HEADLINES.values() for _, ids in rows for claim in ids} <= known


@pytest.mark.parametrize(("published", "simulated", "by_ios", "nearer"), [
    (2.0, 1.9, 1.0, "simulation"), (2.0, 1.0, 1.9, "I/Os"), (2.0, 4.0, 1.0, "alike"), (0.8, 0.7, 1.0, "simulation"),
    (0.5, 0.5, 2.0, "simulation")])
def test_the_nearer_model_has_the_smaller_factor_of_error(published, simulated, by_ios, nearer):
    assert simpler_models.Beside("an effect", published, simulated, by_ios).nearer == nearer
