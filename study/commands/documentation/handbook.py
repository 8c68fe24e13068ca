"""The pages of README.md and docs/ with something made: tables of results, help of every verb, keys of scenarios, speeds.

A page says where something made belongs:

    <!-- made: ladders -->
    ...                             what `study docs` puts here; not to be edited
    <!-- end -->

`study docs` writes all such pages, `study docs --check` says which are out of date. What is made is a pure function of
committed files: `paper/results.json`, files of `data/`, the command line, the sections of a scenario. Nothing is run.

    handbook.pages()            {path: text} of every page with something made, as it should be
    handbook.out_of_date()      those that are not as they should be
    handbook.MADE               name -> what makes it
"""
import re
from pathlib import Path

from study.commands.documentation import (
    answer_list,
    command_help,
    full_size_table,
    grade_tables,
    machines_table,
    results_tables,
    scenario_tables,
    simpler_models,
    speed_table,
)
from study.errors import UserError
from study.project import ROOT, write_atomically

BLOCK = re.compile(r"(?<=<!-- made: )(\S+)( -->\n)(.*?)(?=<!-- end -->)", re.S)


def pages() -> dict[Path, str]:
    """Every page that has something made, as it should be."""
    texts = {path: path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))}
    return {path: BLOCK.sub(_made, text) for path, text in texts.items() if BLOCK.search(text)}


def _made(block: re.Match) -> str:
    if block[1] not in MADE:
        raise UserError(f"a page asks for '{block[1]}', which nothing makes; there are {', '.join(MADE)}")
    return f"{block[1]}{block[2]}{MADE[block[1]]()}\n"


def out_of_date() -> list[Path]:
    """Pages whose made parts are not what would be made today."""
    return [path for path, text in pages().items() if path.read_text() != text]


def write() -> list[Path]:
    """Write the pages that are out of date; which these were."""
    changed = {path: text for path, text in pages().items() if path.read_text() != text}
    for path, text in changed.items():
        write_atomically(path, text)
    return list(changed)


MADE = {
    "results": results_tables.results_table, "documents": results_tables.documents, "example": results_tables.example,
    "answers": answer_list.list_of_answers,
    "questions": results_tables.questions, "tally": results_tables.tally,
    "behind": results_tables.behind, "ladders": results_tables.ladders, "trials": results_tables.trials,
    "claims": results_tables.every_claim, "commands": command_help.commands, "examples": scenario_tables.examples,
    "sections": scenario_tables.sections, "settings": scenario_tables.settings, "eras": scenario_tables.names_of_eras,
    "eras-by-version": scenario_tables.eras_by_version, "real-code-speed": speed_table.real_code_speed,
    "simpler": simpler_models.beside_simpler, "own-error": grade_tables.own_error,
    "mariadb": scenario_tables.mariadb, "machines": machines_table.machines,
    "pairs": full_size_table.pairs,
}
